# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tables, columns and sparse matrices consist of: the arrays and buffers in which their data lie, without a copy.

Of pandas, polars, pyarrow and scipy, whose objects are told by what they can do, so that none of these is imported."""

from typing import Any, Iterator

_SPARSE = ("data", "indices", "indptr", "row", "col", "offsets")  # scipy's, as far as a format has them


def parts(data: Any) -> Iterator[Any]:
    """Arrays and buffers; `data` itself if nothing more is known of it."""
    if hasattr(data, "__array_interface__"):
        yield data
    elif callable(getattr(data, "buffers", None)):  # a column of pyarrow: of text, it has several
        yield from _column(data)
    elif hasattr(data, "chunks"):
        yield from _all(data.chunks)
    elif callable(getattr(data, "get_columns", None)):  # a table of polars
        yield from _all(data.get_columns())
    elif callable(getattr(data, "to_arrow", None)):  # a column of polars
        yield from parts(_polars_column(data))
    elif callable(getattr(data, "tocsr", None)):
        yield from _all(getattr(data, name) for name in _SPARSE if hasattr(data, name))
    elif callable(getattr(data, "items", None)) and hasattr(data, "dtypes") and hasattr(data, "columns"):  # a table of pandas
        yield from _all(column for _, column in data.items())
    elif hasattr(data, "codes"):  # categories of pandas, and an index of several levels
        yield from _all(data.codes if isinstance(data.codes, list) else [data.codes])
    elif hasattr(data, "asi8"):  # pandas' times, which are whole numbers, also where to_numpy would make objects of them
        yield data.asi8
    elif hasattr(data, "dtype") and hasattr(data, "array"):  # a column of pandas
        yield from _pandas_column(data)
    elif callable(getattr(data, "itercolumns", None)):  # a table of pyarrow
        yield from _all(data.itercolumns())
    else:
        yield data


def _all(several: Any) -> Iterator[Any]:
    for each in several:
        yield from parts(each)


def _pandas_column(data: Any) -> Iterator[Any]:
    array = data.array
    if hasattr(array, "codes") or hasattr(array, "asi8"):
        yield from parts(array)
    elif hasattr(array, "__arrow_array__") and not hasattr(array, "_ndarray"):
        yield from parts(array.__arrow_array__())
    else:
        yield from parts(data.to_numpy(copy=False))


def _column(data: Any) -> Iterator[Any]:
    """Of a slice, the elements that it has, where all are of one size; else the whole buffers."""
    buffers = data.buffers()
    try:
        width = data.type.bit_width // 8 if len(buffers) == 2 and buffers[1] is not None else 0
    except ValueError:  # they vary
        width = 0
    if width:
        yield _Buffer(buffers[1].address + data.offset * width, len(data) * width)
    else:
        yield from (_Buffer(b.address, b.size) for b in buffers if b is not None)


def _polars_column(column: Any) -> Any:
    """pyarrow shares any column's memory; without it, numbers alone can be had without a copy."""
    try:
        return column.to_arrow()
    except ImportError:
        return column.to_numpy(allow_copy=False)


class _Buffer:
    """Bytes at an address, as arrays say it of themselves; whoever has them keeps them."""

    def __init__(self, address: int, size: int):
        self.__array_interface__ = {"data": (address, True), "typestr": "|u1", "shape": (size,), "version": 3}
