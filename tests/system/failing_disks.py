# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Directories on disks that fail: a small ext4 that fills up, and a file system of ours whose reads and writes fail or
stall on command. Both need root, and are gone at the end whatever happens."""

import contextlib
import ctypes
import errno
import os
import select
import stat
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path


class Unavailable(Exception):
    """This machine cannot have it; the text is the reason."""


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


libc = ctypes.CDLL(None, use_errno=True)

# linux/fuse.h
LOOKUP, FORGET, GETATTR, UNLINK, READ, WRITE, STATFS, RELEASE, FLUSH = 1, 2, 3, 10, 15, 16, 17, 18, 25
INIT, INTERRUPT, CREATE, BATCH_FORGET, FALLOCATE = 26, 36, 35, 42, 43
SILENT = (FORGET, BATCH_FORGET, INTERRUPT)
HEADER, ANSWER, TRANSFER = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ"), struct.Struct("<QQII")
ASYNC_READ, BIG_WRITES, ASYNC_DIO, MAX_PAGES = 1, 1 << 5, 1 << 15, 1 << 22
DIRECT_IO = 1
MNT_FORCE, MNT_DETACH = 1, 2
LARGEST = 512 << 10
ALWAYS = threading.Event()
ALWAYS.set()


class FailingFiles:
    """A mounted file system for one file at a time, served by a thread of this process. Attributes may be set at any
    time: errors for all reads, writes or requests for room (errno, 0 = none), and two events: `answers`, which holds reads
and writes up while it is clear, and `room`, which does so with requests for room (fallocate). `held`: those that wait."""

    def __init__(self, place: Path, store: Path):
        self.read_error = self.write_error = self.room_error = 0
        self.answers, self.room = threading.Event(), threading.Event()
        self.answers.set()
        self.room.set()
        self.reads = self.writes = 0
        self.held = []
        self._place = place
        self._store = os.open(store, os.O_RDWR | os.O_CREAT, 0o600)
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"pagecast-test", os.fsencode(place), b"fuse", 0, options.encode()):
            number = ctypes.get_errno()
            os.close(self._device)
            raise Unavailable(f"a fuse file system cannot be mounted: {os.strerror(number)}")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        self.answers.set()
        self.room.set()
        # The kernel closes a program's file some time after its end. Force: the thread need not wait for that.
        libc.umount2(os.fsencode(self._place), MNT_FORCE)
        libc.umount2(os.fsencode(self._place), MNT_DETACH)
        self._thread.join()
        os.close(self._device)
        os.close(self._store)

    def _serve(self):
        """Until the file system is unmounted."""
        while True:
            for request in [r for r in self.held if self._answers(r[0])]:
                self.held.remove(request)
                self._reply(*request)
            if self.held and not select.select([self._device], [], [], 0.02)[0]:
                continue
            try:
                request = os.read(self._device, LARGEST + (64 << 10))
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return
            _, code, unique, node, *_ = HEADER.unpack_from(request)
            if not self._answers(code):
                self.held.append((code, unique, node, request))
            elif code not in SILENT:
                self._reply(code, unique, node, request)

    def _answers(self, code: int) -> bool:
        return {READ: self.answers, WRITE: self.answers, FALLOCATE: self.room}.get(code, ALWAYS).is_set()

    def _reply(self, code: int, unique: int, node: int, request: bytes):
        try:
            body, failure = self._answer(code, node, request[HEADER.size:]), 0
        except OSError as error:
            body, failure = b"", -error.errno
        with contextlib.suppress(OSError):  # whoever asked may be gone
            os.write(self._device, ANSWER.pack(ANSWER.size + len(body), failure, unique) + body)

    def _answer(self, code: int, node: int, body: bytes) -> bytes:
        if code == INIT:
            flags = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES
            return struct.pack("<IIIIHHIIHHI7I", 7, 31, LARGEST, flags, 64, 64, LARGEST, 1, LARGEST >> 12, 0, 0, *[0] * 7)
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if code == CREATE:
            entry = struct.pack("<QQQQII", 2, 1, 0, 0, 0, 0) + self._attributes(2)
            return entry + struct.pack("<QII", 1, DIRECT_IO, 0)
        if code == STATFS:
            return struct.pack("<5Q4I6I", 1 << 20, 1 << 20, 1 << 20, 100, 100, 4096, 255, 4096, 0, *[0] * 6)
        if code == FALLOCATE and self.room_error:
            raise OSError(self.room_error, "")
        if code in (UNLINK, RELEASE, FLUSH, FALLOCATE):
            return b""
        if code not in (READ, WRITE):
            raise OSError(errno.ENOENT if code == LOOKUP else errno.ENOSYS, "")
        return self._transfer(code, body)

    def _transfer(self, code: int, body: bytes) -> bytes:
        _, offset, size, _ = TRANSFER.unpack_from(body)
        if code == READ:
            self.reads += 1
            if self.read_error:
                raise OSError(self.read_error, "")
            return os.pread(self._store, size, offset)
        self.writes += 1
        if self.write_error:
            raise OSError(self.write_error, "")
        return struct.pack("<II", os.pwrite(self._store, body[40:40 + size], offset), 0)

    def _attributes(self, node: int) -> bytes:
        mode = stat.S_IFDIR | 0o755 if node == 1 else stat.S_IFREG | 0o600
        size = 0 if node == 1 else 1 << 40
        return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


@contextlib.contextmanager
def failing_files(home: Path) -> Iterator[tuple[Path, FailingFiles]]:
    """A directory whose file's I/O fails on command."""
    place = home / "failing"
    place.mkdir()
    try:
        files = FailingFiles(place, home / "store")
    except OSError as reason:
        raise Unavailable(f"/dev/fuse: {os.strerror(reason.errno)}") from None
    try:
        yield place, files
    finally:
        files.close()
