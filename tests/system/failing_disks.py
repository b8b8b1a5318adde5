# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Directories on disks that fail: a small ext4 that fills up, and a file system of ours whose reads and writes fail or
stall on command. Both need root, and are gone at the end whatever happens."""

import contextlib
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from fuse import CREATE, FALLOCATE, READ, WRITE, Server, Unavailable, mounted

DIRECT_IO = 1  # linux/fuse.h


@contextlib.contextmanager
def small_disk(home: Path, size: int) -> Iterator[Path]:
    """An ext4 of `size` bytes on a loop device over a file in `home`."""
    image, place = home / "image", home / "small"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(size)
    for command in (["mkfs.ext4", "-q", "-m", "0", image], ["mount", "-o", "loop", image, place]):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError as reason:
            raise Unavailable(f"{reason.filename} is not installed") from None
        if done.returncode:
            raise Unavailable(f"{command[0]} failed: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


class FailingFiles(Server):
    """Attributes may be set at any time: errors for all reads, writes or requests for room (errno, 0 = none), and two events:
    `answers`, which holds reads and writes up while it is clear, and `room`, which does so with requests for room (fallocate)."""

    def __init__(self, place: Path, store: Path):
        self.read_error = self.write_error = self.room_error = 0
        self.answers, self.room = threading.Event(), threading.Event()
        self.answers.set()
        self.room.set()
        super().__init__(place, store)

    def close(self):
        self.answers.set()
        self.room.set()
        super().close()

    def is_held(self, code: int) -> bool:
        event = {READ: self.answers, WRITE: self.answers, FALLOCATE: self.room}.get(code)
        return event is not None and not event.is_set()

    def size(self) -> int:
        return 1 << 40

    def answer(self, code: int, body: bytes) -> bytes:
        if code == CREATE:
            return self.entry() + struct.pack("<QII", 1, DIRECT_IO, 0)
        return super().answer(code, body)

    def allocate(self) -> bytes:
        if self.room_error:
            raise OSError(self.room_error, "")
        return super().allocate()

    def read(self, size: int, offset: int) -> bytes:
        if self.read_error:
            self.reads += 1
            raise OSError(self.read_error, "")
        return super().read(size, offset)

    def write(self, data: bytes, offset: int) -> int:
        if self.write_error:
            self.writes += 1
            raise OSError(self.write_error, "")
        return super().write(data, offset)


def failing_files(home: Path) -> contextlib.AbstractContextManager[tuple[Path, FailingFiles]]:
    """A directory whose file's I/O fails on command."""
    return mounted(FailingFiles, home, home / "store")
