# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory control groups, of version 1 and 2: one per run, so that no run sees the leftovers of another;
and what cannot be run here."""

import contextlib
import os
import signal
import time
from pathlib import Path

from harness import interruption
from harness import memory

ROOT_V1 = Path("/sys/fs/cgroup/memory")
ROOT_V2 = Path("/sys/fs/cgroup")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Unavailable(Exception):
    """What was asked for cannot be had here; the message says why."""


def version() -> int:
    return 1 if (ROOT_V1 / "memory.limit_in_bytes").exists() else 2


class MemoryGroup:
    """A fresh group with a memory limit. Processes join it themselves, between fork and exec, so that
    the parent is never charged."""

    def __init__(self, limit: int | None, swap: bool):
        self.limit, self.swap = limit, swap
        self.path = (ROOT_V1 if version() == 1 else ROOT_V2) / f"pagecast-bench.{os.getpid()}.{time.monotonic_ns()}"
        self._procs = str(self.path / "cgroup.procs")

    def __enter__(self) -> "MemoryGroup":
        with interruption.deferred():  # else a group that has just been made would stay
            self._make()
        return self

    def _make(self):
        try:
            if version() == 2:
                with contextlib.suppress(OSError):  # already on, usually
                    (ROOT_V2 / "cgroup.subtree_control").write_text("+memory")
            self.path.mkdir()
        except OSError as error:
            raise Unavailable(f"no memory control group can be made under {self.path.parent}: {error.strerror}") from error
        try:
            self._configure()
        except OSError as error:
            self._remove()
            raise Unavailable(f"the control group has no memory limit to set ({error}); enable the memory controller") from error

    def __exit__(self, *_):
        with interruption.deferred():
            self._remove()

    def _configure(self):
        if version() == 1:
            self._set("memory.limit_in_bytes", -1 if self.limit is None else self.limit)
            if not self.swap:
                self._set("memory.swappiness", 0)
                # A page more than without swap: Linux 6.18 counts no hits of a limit of memory and swap, and that one is asked first.
                self._set_if_there("memory.memsw.limit_in_bytes", -1 if self.limit is None else self.limit + PAGE)
        else:
            self._set("memory.max", "max" if self.limit is None else self.limit)
            self._set_if_there("memory.swap.max", "max" if self.swap else 0)

    def _set(self, name: str, value):
        (self.path / name).write_text(str(value))

    def _set_if_there(self, name: str, value):
        if (self.path / name).exists():
            with contextlib.suppress(OSError):  # version 1 refuses without swap accounting
                self._set(name, value)

    def join(self):
        """For the child between fork and exec, where little is safe: plain system calls."""
        file = os.open(self._procs, os.O_WRONLY)
        os.write(file, b"0")  # 0 is the writer itself
        os.close(file)

    def peak(self) -> int:
        """The largest use so far in bytes; 0 where the kernel does not say."""
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            with contextlib.suppress(OSError, ValueError):
                return int((self.path / name).read_text())
        return 0

    def was_killed(self) -> bool:
        """Whether the out-of-memory killer struck in this group."""
        return any(self._counted(name, "oom_kill") for name in ("memory.oom_control", "memory.events"))

    def hits(self) -> int:
        """How often memory was asked for that the limit did not leave; 0 where the kernel does not say."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.path / "memory.failcnt").read_text())
        return self._counted("memory.events", "max")

    def _counted(self, name: str, word: str) -> int:
        """The number behind the word in a file of the group; 0 where there is none."""
        with contextlib.suppress(OSError):
            for line in (self.path / name).read_text().splitlines():
                if line.startswith(f"{word} "):
                    return int(line.split()[1])
        return 0

    def _remove(self):
        """Ends what is left in the group (only what was started into it) and removes it."""
        for _ in range(100):
            with contextlib.suppress(OSError):
                for pid in (self.path / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            try:
                return self.path.rmdir()
            except FileNotFoundError:
                return None
            except OSError:
                time.sleep(0.05)
        return None


def limit_refusal(limit: int) -> str | None:
    """Why no program can be run cold under a limit here."""
    if os.geteuid() != 0:
        return "a control group with a memory limit, swap and an empty page cache need root"
    try:
        with MemoryGroup(limit, swap=True):
            return None
    except Unavailable as reason:
        return str(reason)


def in_core_refusal(data: int) -> str | None:
    free = memory.available()
    wanted = int(data * 1.2) + (128 << 20)
    return None if free >= wanted else f"needs {wanted >> 20} MiB of memory, {free >> 20} MiB are free"
