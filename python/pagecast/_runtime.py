# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime of this process (pagecast.h), which `pagecast run` has loaded before Python began.

It is never loaded later: the runtime must be there when the C library's malloc, mmap and read are bound, or it would not see who
unmaps, protects or reads into the data that it pages."""

import ctypes
from typing import Any, Optional


class Runtime:
    """Its functions. Those that change errno leave it to ctypes.get_errno()."""

    def __init__(self, library: ctypes.CDLL):
        def function(name: str, result: Any, *arguments: Any) -> Any:
            found = getattr(library, name)
            found.restype, found.argtypes = result, list(arguments)
            return found
        address, size = ctypes.c_void_p, ctypes.c_size_t
        self.prefetch = function("pagecast_prefetch", ctypes.c_int, address, size)
        self.prefetch_write = function("pagecast_prefetch_write", ctypes.c_int, address, size)
        self.release = function("pagecast_release", ctypes.c_int, address, size, ctypes.c_uint)
        self.budget = function("pagecast_budget", ctypes.c_uint64)
        self.active = function("pagecast_active", ctypes.c_int)
        self.begin = function("pagecast_begin", ctypes.c_int)
        self.set_memory = function("pagecast_set_memory", ctypes.c_uint64, ctypes.c_uint64)
        self.map = function("pagecast_allocate", address, size)
        self.unmap = function("munmap", ctypes.c_int, address, size)
        self.statistics = function("pagecast_statistics", ctypes.c_int, ctypes.c_int)


def _loaded() -> Optional[Runtime]:
    try:
        return Runtime(ctypes.CDLL(None, use_errno=True))
    except AttributeError:  # not started by pagecast run
        return None


runtime = _loaded()


def loaded() -> bool:
    """Whether the runtime is in this process, as it is in a program that `pagecast run` started.

    Where it is not, arrays are numpy's own and hints do nothing: results are the same, within the memory that there is. Cost:
    0.1 us. Any thread."""
    return runtime is not None


def budget() -> int:
    """Bytes of memory that large data may take now; 0 while nothing is paged. Cost: 1 us. Any thread."""
    return int(runtime.budget()) if runtime else 0


def active() -> bool:
    """Whether some data are paged: their sum exceeded the budget, or an array of this package was made. Cost: 1 us. Any
    thread."""
    return bool(runtime and runtime.active())
