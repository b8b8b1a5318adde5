# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hints for arrays and tables: the ranges of memory that they cover, and what is said of them to the runtime (pagecast.h)."""

import ctypes
import errno
import itertools
import mmap
import operator
import re
from typing import Any, Iterator

from ._parts import parts
from ._runtime import runtime


def _element(array: Any, kind: str) -> int:
    """Bytes of an element. `kind` is what arrays call their type: "<f8", "<M8[ns]", "<U5"; of objects, "|O", it has no size."""
    size = getattr(array, "itemsize", None)  # numpy's own arrays have it
    if size is not None:
        return int(size)
    found = re.match(r"[<>|=]?([a-zA-Z])(\d*)", kind)
    if not found or not (found[2] or found[1] == "O"):
        raise TypeError(f"hints do not know how large the elements of an array of type {kind!r} are")
    return int(found[2]) * (4 if found[1] == "U" else 1) if found[2] else ctypes.sizeof(ctypes.c_void_p)


def _interface(array: Any) -> "tuple[int, int, tuple[int, ...], tuple[int, ...]]":
    """Address, bytes an element, shape, and strides in bytes: of a numpy array or its like, or of a buffer."""
    described = getattr(array, "__array_interface__", None)
    if described is not None:
        size = _element(array, described["typestr"])
        shape = tuple(described["shape"])
        strides = described.get("strides")
        if strides is None:  # in the order of C
            strides = tuple(itertools.accumulate(reversed((*shape[1:], size)), lambda a, b: a * b))[::-1]
        return described["data"][0], size, shape, tuple(strides)
    try:
        buffer = memoryview(array)
    except TypeError:
        raise TypeError(f"hints are for arrays of numpy, for tables, columns and matrices of pandas, polars, pyarrow and scipy, and for "
                        f"buffers; {type(array).__name__} is none of them") from None
    with buffer as view:
        if not view.contiguous:
            raise TypeError("hints are for numpy arrays, or for buffers that are contiguous")
        if view.readonly:
            raise TypeError("hints are for arrays and buffers that can be written, such as bytearray and mmap")
        with view.cast("B") as flat:
            if flat.nbytes == 0:
                return 0, 1, (0,), (1,)
            first = ctypes.c_char.from_buffer(flat)
            address = ctypes.addressof(first)
            del first
            return address, 1, (flat.nbytes,), (1,)


def ranges(data: Any) -> Iterator["tuple[int, int]"]:
    """(address, bytes) of each range of memory that the data cover; gaps of less than a page are covered, too."""
    for part in parts(data):
        yield from _ranges_of(part)


def _ranges_of(array: Any) -> Iterator["tuple[int, int]"]:
    address, extent, shape, strides = _interface(array)
    if 0 in shape:
        return
    outer = []
    for count, stride in sorted(zip(shape, strides), key=lambda dimension: abs(dimension[1])):
        if count == 1:
            continue
        if stride < 0:
            address, stride = address + stride * (count - 1), -stride
        if stride <= max(extent, mmap.PAGESIZE):
            extent += stride * (count - 1)
        else:
            outer.append(range(0, stride * count, stride))
    for offsets in itertools.product(*reversed(outer)):
        yield address + sum(offsets), extent


def _check(data: Any) -> None:
    """A script that is tried without the runtime has the errors that it would have with it."""
    for part in parts(data):
        _interface(part)


def prefetch(array: Any, *, write: bool = False) -> int:
    """Will use `array` soon: a numpy array or view, a table, column or sparse matrix of pandas, polars, pyarrow or scipy, or a
    buffer that can be written.

    `write`: it will be stored to, too, which saves a fault at each first store. Returns the pages that were newly asked for:
    0 where all are in memory or nothing is paged. When the queue of hints is full the rest is dropped. Cost: 1 us a range of
    the view, and 0.1 to 2 us in the runtime. TypeError: `array` is none of these, also where nothing is paged. Any thread."""
    if runtime is None:
        _check(array)
        return 0
    ask = runtime.prefetch_write if write else runtime.prefetch
    pages = 0
    for address, size in ranges(array):
        asked = ask(address, size)
        if asked == -errno.ENOSPC:
            break
        pages += max(asked, 0)
    return pages


def release(array: Any, *, priority: int = 0) -> None:
    """Has finished with `array`, whose contents are kept: who touches it again gets it back.

    `priority`: 0, never used again, to 7, soon used again; the lowest goes first. Only pages that lie wholly inside a range of
    the view are released. Cost: as of prefetch. ValueError: no such priority. TypeError: as of prefetch. Any thread."""
    priority = operator.index(priority)
    if not 0 <= priority <= 7:
        raise ValueError(f"priority is 0 to 7, not {priority}")
    if runtime is None:
        return _check(array)
    for address, size in ranges(array):
        if runtime.release(address, size, priority) == -errno.ENOSPC:
            break
