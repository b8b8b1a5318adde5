# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One run of one program: its times, its output, how it ended."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from harness import interruption


@dataclass
class Run:
    wall_s: float
    user_s: float
    system_s: float
    status: str  # "ok", "killed" (out of memory), "timeout", or what went wrong
    output: bytes = b""
    errors: str = ""
    peak_bytes: int = 0
    stats: dict | None = None
    first_thread_cpu_s: float | None = None  # of the thread that runs main; None where the kernel does not say

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s

    def sample(self) -> dict:
        """The raw figures for the JSON."""
        return {"wall_s": self.wall_s, "user_s": self.user_s, "system_s": self.system_s, "status": self.status,
                "first_thread_cpu_s": self.first_thread_cpu_s, "peak_bytes": self.peak_bytes,
                "output_sha256": hashlib.sha256(self.output).hexdigest(), "stats": self.stats}


def run(command: list, group=None, environment: dict | None = None, timeout: float | None = None) -> Run:
    """Runs `command`, in `group` if there is one. Output and errors are read through pipes by threads, so
    that no file on the measured disk is in play. Options of the runtime that the user has in the environment
    do not count: `environment` has those of the run."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
    start = time.monotonic()
    with interruption.deferred():
        process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**clean, **(environment or {})},
                                   preexec_fn=group.join if group else None)
        texts: dict[str, bytes] = {}
        readers = [threading.Thread(target=lambda n=n, p=p: texts.__setitem__(n, p.read()))
                   for n, p in (("out", process.stdout), ("err", process.stderr))]
        for reader in readers:
            reader.start()
        late = threading.Event()
        timer = threading.Timer(timeout, lambda: (late.set(), _kill(process))) if timeout else None
        if timer:
            timer.start()
    try:
        interruption.check()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        first_thread = _first_thread_cpu(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:  # Ctrl-C and SIGTERM must not leave the program behind
        _kill(process)
        process.wait()
        raise
    finally:
        if timer:
            timer.cancel()
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    for reader in readers:
        reader.join()
    ended = "timeout" if late.is_set() else _ending(process.returncode, group)
    return Run(wall, usage.ru_utime, usage.ru_stime, ended, texts["out"], texts["err"].decode(errors="replace"),
               group.peak() if group else 0, first_thread_cpu_s=first_thread)


def _first_thread_cpu(pid: int) -> float | None:
    """Of a process that has ended and was not waited for: unlike its resource usage, without its other threads."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) * 1e-9
    except (OSError, ValueError, IndexError):
        return None


def _kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


def _ending(code: int, group) -> str:
    if code == 0:
        return "ok"
    if code == -signal.SIGKILL and group and group.was_killed():
        return "killed"
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def read_stats(path: Path) -> dict | None:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
