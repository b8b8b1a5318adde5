# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A swap file of our own: made, switched on for single runs, and always removed."""

import contextlib
import shutil
import subprocess
from pathlib import Path


def _run(*command: str):
    """Runs a tool of the system; raises OSError with its own words."""
    path = shutil.which(command[0], path="/usr/sbin:/sbin:/usr/bin:/bin")
    if path is None:
        raise OSError(f"{command[0]} is not installed")
    done = subprocess.run([path, *command[1:]], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError((done.stderr or done.stdout).strip().splitlines()[-1] if done.stderr or done.stdout
                      else f"{command[0]} failed")


def others_in_use() -> bool:
    """Whether the machine has swap besides ours."""
    return len(Path("/proc/swaps").read_text().splitlines()) > 1


def room_for(data: int) -> int:
    """Bytes of a swap file for a program with so much data, and some for what else the kernel swaps out."""
    return (int(data * 1.25) + (64 << 20)) & ~0xFFF


def swap_for(data: int, work: Path, say) -> "SwapFile":
    """In the directory, with room for a program with so much data."""
    return SwapFile(work / "swap", room_for(data), say)


class SwapFile:
    """with SwapFile(path, bytes, say) as swap: with swap.on(): ...

    Where swap cannot be had, `refusal` says why and nothing else happens."""

    def __init__(self, path: Path, size: int, say):
        self.path, self.size, self.say = path, size, say
        self.refusal: str | None = None
        self._is_on = False

    def __enter__(self) -> "SwapFile":
        self._remove()  # a leftover of a run that was killed
        self.say(f"making a swap file of {self.size >> 20} MiB, {self.path}: in use while the original runs, removed at the end")
        try:
            self._make()
            with self.on():
                pass
        except OSError as error:
            self.refusal = str(error)
            self._remove()
            self.say(f"no swap: {self.refusal}")
        except BaseException:
            self._remove()
            raise
        return self

    @property
    def why_not(self) -> str | None:
        """As a reason for a table, where swap cannot be had."""
        return f"no swap can be had here ({self.refusal})" if self.refusal else None

    def __exit__(self, *_):
        if self.path.exists():
            self._remove()
            self.say("the swap file is removed")

    def _make(self):
        self.path.touch(mode=0o600)
        _run("fallocate", "-l", str(self.size), str(self.path))
        _run("mkswap", str(self.path))

    @contextlib.contextmanager
    def on(self):
        _run("swapon", str(self.path))
        self._is_on = True
        try:
            yield
        finally:
            self._off()

    def _off(self):
        _run("swapoff", str(self.path))
        self._is_on = False

    def _remove(self):
        if self._is_on or str(self.path) in Path("/proc/swaps").read_text():
            with contextlib.suppress(OSError):
                self._off()
        self.path.unlink(missing_ok=True)
