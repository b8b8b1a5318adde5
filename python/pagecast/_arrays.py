# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that are paged whatever the budget. They are numpy's, and so numpy is needed when one is made."""

import math
import operator
import os
from typing import TYPE_CHECKING, Any, Literal, Optional, Sequence, SupportsIndex, Union

from ._runtime import runtime

if TYPE_CHECKING:
    import numpy
    import numpy.typing

Shape = Union[SupportsIndex, Sequence[SupportsIndex]]


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("pagecast makes numpy's arrays, and numpy is not installed: pip install numpy") from error
    return numpy


class _Mapping:
    """Memory of the runtime's, which an array holds on to by numpy's array interface. It goes with its last array."""

    def __init__(self, size: int):
        assert runtime is not None
        self._size, self._unmap = size, runtime.unmap  # which outlives this module when Python ends
        self._address = runtime.map(size)
        if not self._address:
            raise MemoryError(f"no address space for an array of {size} bytes")
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (size,), "data": (self._address, False)}

    def __del__(self) -> None:
        if getattr(self, "_address", None):
            self._unmap(self._address, self._size)


def zeros(shape: Shape, dtype: "numpy.typing.DTypeLike" = float, order: Literal["C", "F"] = "C") -> "numpy.ndarray[Any, Any]":
    """An array of zeros that is paged whatever the budget: what of it is not in memory is on the disk.

    `shape`, `dtype`, `order`: as of numpy.zeros. The first such array starts the paging of all large data of the program. Without
    the runtime, where nothing can be paged, or without elements, it is numpy's own. Cost: some ms the first time, then 10 us,
    and a page of 4 KiB of memory or disk for each that is touched. MemoryError: no address space. TypeError: elements are Python
    objects, which live elsewhere, or sizes are no whole numbers. ImportError: no numpy. Any thread."""
    numpy = _numpy()
    kind = numpy.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"elements of {kind} are Python objects, whose data lie elsewhere; use numpy.empty")
    given: Any = shape if numpy.iterable(shape) else (shape,)
    sizes = [operator.index(n) for n in given]
    size = math.prod(sizes) * kind.itemsize
    if runtime is None or size <= 0 or min(sizes, default=0) < 0:
        return numpy.zeros(shape, kind, order)
    return numpy.ndarray(shape, kind, numpy.asarray(_Mapping(size)), order=order)


def empty(shape: Shape, dtype: "numpy.typing.DTypeLike" = float, order: Literal["C", "F"] = "C") -> "numpy.ndarray[Any, Any]":
    """The same as zeros, since fresh memory is zero at no cost; the name says that its contents do not matter."""
    return zeros(shape, dtype, order)


def memmap(filename: "Union[str, os.PathLike[str]]", dtype: "numpy.typing.DTypeLike" = "uint8",
           mode: Literal["r", "r+", "w+", "c"] = "r+", offset: int = 0, shape: Optional[Shape] = None,
           order: Literal["C", "F"] = "C") -> "numpy.memmap[Any, Any]":
    """numpy.memmap, of a file that hints work for whatever the budget: they become advice to the kernel.

    Arguments, result and errors are numpy.memmap's; `offset` is in bytes. Files below 1 MiB, and those that the program may
    execute, are left alone. Cost: that of numpy.memmap, and some ms the first time. ImportError: no numpy. Any thread."""
    numpy = _numpy()
    if runtime is not None:
        runtime.begin()
    return numpy.memmap(filename, dtype=dtype, mode=mode, offset=offset, shape=shape, order=order)
