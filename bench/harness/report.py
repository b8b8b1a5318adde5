# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every harness here says of itself: progress on the terminal, the machine and the commit in JSON."""

import contextlib
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from harness.contenders import ROOT

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise ValueError(f"'{text}' is not a size; write 256M or 1G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


class Screen:
    """A progress bar on a terminal, plain lines elsewhere."""

    def __init__(self, file=None):
        self.file = file or sys.stdout
        # A table must not be broken by a log file that has no width.
        self.console = Console(file=self.file, width=None if self.file.isatty() else 140)
        self._progress = None
        self._task = None
        self._done = 0
        self._total = 0

    def say(self, text: str):
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def steps(self, total: int):
        self._total, self._done = total, 0
        if not self.console.is_terminal:
            yield
            return
        with Progress(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                      TimeElapsedColumn(), console=self.console, transient=True) as self._progress:
            self._task = self._progress.add_task("", total=total)
            yield
        self._progress = None

    def step(self, text: str):
        """Announces the step that begins."""
        self._done += 1
        if self._progress:
            self._progress.update(self._task, description=text, completed=self._done - 1)
        else:
            print(f"[{self._done}/{self._total}] {text}", file=self.file, flush=True)


def provenance(**more) -> dict:
    """Who, where, what, how: what makes a figure worth keeping."""
    return {"version": 1, "machine": _machine(), "kernel": platform.release(), "commit": _commit(),
            "command": [sys.executable, *sys.argv], **more}


def build_sha256(build: Path) -> str:
    """Of what is measured: the plugin, the runtime, the command. The same commit can be built in more than one way."""
    digest = hashlib.sha256()
    for name in ("bin/pagecast", "lib/pagecast/pagecast", "lib/libpagecast.so", "lib/pagecast/pagecast-llvm19.so"):
        with contextlib.suppress(OSError):  # what is missing is said when it is needed
            digest.update((build / name).read_bytes())
    return digest.hexdigest()


def _machine() -> dict:
    memory = dict(re.findall(r"^(\w+):\s+(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE))
    model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {"architecture": platform.machine(), "processors": os.cpu_count(),
            "model": model[1] if model else "", "memory_bytes": int(memory["MemTotal"]) * 1024}


def _commit() -> str:
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def write_json(path: Path, data: dict):
    """On one line: Python indents at a tenth of the speed, and there may be a million samples, written after each part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")  # a power cut leaves the old file or the new one
    new.write_text(json.dumps(data) + "\n")
    new.replace(path)
