# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""File systems that a thread of the test serves, through /dev/fuse: what they do with a request is up to a subclass."""

import contextlib
import ctypes
import errno
import os
import select
import stat
import struct
import threading
from collections.abc import Iterator
from pathlib import Path


class Unavailable(Exception):
    """This machine cannot have it; the text is the reason."""


libc = ctypes.CDLL(None, use_errno=True)

# linux/fuse.h
LOOKUP, FORGET, GETATTR, SETATTR, UNLINK, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH = 1, 2, 3, 4, 10, 14, 15, 16, 17, 18, 20, 25
INIT, INTERRUPT, CREATE, BATCH_FORGET, FALLOCATE = 26, 36, 35, 42, 43
SILENT = (FORGET, BATCH_FORGET, INTERRUPT)
HEADER, ANSWER, TRANSFER = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ"), struct.Struct("<QQII")
ASYNC_READ, BIG_WRITES, ASYNC_DIO, MAX_PAGES = 1, 1 << 5, 1 << 15, 1 << 22
MNT_FORCE, MNT_DETACH = 1, 2
LARGEST = 512 << 10
ROOT, FILE = 1, 2  # nodes


class Server:
    """A mounted file system with one file, in `store`, served by a thread of this process. A subclass answers what is about
    names and opening; it may hold requests up."""

    def __init__(self, place: Path, store: Path):
        self.reads = self.writes = 0
        self.held: list[tuple] = []  # requests that wait: code first
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
        # The kernel closes a program's file some time after its end. Force: the thread need not wait for that.
        libc.umount2(os.fsencode(self._place), MNT_FORCE)
        libc.umount2(os.fsencode(self._place), MNT_DETACH)
        self._thread.join()
        os.close(self._device)
        os.close(self._store)

    def size(self) -> int:
        """Of the file."""
        raise NotImplementedError

    def answer(self, code: int, body: bytes) -> bytes:
        """What is not the same in all. Raises OSError."""
        raise OSError(errno.ENOENT if code == LOOKUP else errno.ENOSYS, "")

    def is_held(self, code: int) -> bool:
        return False

    def _serve(self):
        """Until the file system is unmounted."""
        while True:
            for request in [r for r in self.held if not self.is_held(r[0])]:
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
            if self.is_held(code):
                self.held.append((code, unique, node, request))
            elif code not in SILENT:
                self._reply(code, unique, node, request)

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
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code == STATFS:
            return struct.pack("<5Q4I6I", 1 << 20, 1 << 20, 1 << 20, 100, 100, 4096, 255, 4096, 0, *[0] * 6)
        if code == FALLOCATE:
            return self.allocate()
        if code in (UNLINK, RELEASE, FSYNC, FLUSH):
            return b""
        if code not in (READ, WRITE):
            return self.answer(code, body)
        _, offset, size, _ = TRANSFER.unpack_from(body)
        if code == READ:
            return self.read(size, offset)
        return struct.pack("<II", self.write(body[40:40 + size], offset), 0)

    def read(self, size: int, offset: int) -> bytes:
        self.reads += 1
        return os.pread(self._store, size, offset)

    def write(self, data: bytes, offset: int) -> int:
        self.writes += 1
        return os.pwrite(self._store, data, offset)

    def allocate(self) -> bytes:
        """There is always room."""
        return b""

    def entry(self) -> bytes:
        """The file's, as an answer to its name."""
        return struct.pack("<QQQQII", FILE, 1, 0, 0, 0, 0) + self.attributes(FILE)

    def attributes(self, node: int) -> bytes:
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o600
        size = 0 if node == ROOT else self.size()
        return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class CachedFile(Server):
    """Has one file, of any name, which is kept in the page cache while it is open, as most file systems do."""

    def size(self) -> int:
        return os.fstat(self._store).st_size

    def answer(self, code: int, body: bytes) -> bytes:
        if code == LOOKUP:
            return self.entry()
        if code == OPEN:
            return struct.pack("<QII", 1, 0, 0)
        if code == SETATTR:
            valid, _, _, size = struct.unpack_from("<IIQQ", body)
            if valid & 1 << 3:
                os.ftruncate(self._store, size)
            return struct.pack("<QII", 0, 0, 0) + self.attributes(FILE)
        return super().answer(code, body)


@contextlib.contextmanager
def mounted(server: type[Server], home: Path, store: Path) -> Iterator[tuple[Path, Server]]:
    """A directory on such a file system, and its server."""
    place = home / "fuse"
    place.mkdir()
    try:
        serving = server(place, store)
    except OSError as reason:
        raise Unavailable(f"/dev/fuse: {os.strerror(reason.errno)}") from None
    try:
        yield place, serving
    finally:
        serving.close()
