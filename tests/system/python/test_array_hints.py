# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which memory a view covers, for the hints of the Python package: each range is checked by its bytes."""

import mmap
import sys

import numpy as np
import pytest

from places import ROOT

sys.path.insert(0, str(ROOT / "python"))
from pagecast import _hints  # noqa: E402

PAGE = mmap.PAGESIZE


def covered(view) -> list[tuple[int, int]]:
    return sorted(_hints.ranges(view))


def test_a_whole_array_is_one_range():
    a = np.zeros((3, 5, 7))
    assert covered(a) == [(a.ctypes.data, a.nbytes)]
    assert covered(a.T) == covered(a[::-1, :, ::-1]) == covered(a)


def test_rows_are_one_range_and_part_of_each_row_many():
    a = np.zeros((10, 4 * PAGE), dtype=np.int8)
    assert covered(a[2:5]) == [(a.ctypes.data + 8 * PAGE, 12 * PAGE)]
    assert covered(a[2:5, 10:30]) == [(a.ctypes.data + i * 4 * PAGE + 10, 20) for i in (2, 3, 4)]


def test_steps_below_a_page_are_covered_with_their_gaps():
    a = np.zeros(1000)
    assert covered(a[10:21:2]) == covered(a[20:9:-2]) == [(a[10:].ctypes.data, 10 * 8 + 8)]


def test_steps_of_pages_are_ranges_of_their_own_from_either_end():
    a = np.zeros((6, 2 * PAGE), dtype=np.int8)
    assert covered(a[:, 3]) == covered(a[::-1, 3]) == [(a.ctypes.data + i * 2 * PAGE + 3, 1) for i in range(6)]


@pytest.mark.parametrize("seed", range(40))
def test_every_element_is_in_a_range_and_no_range_reaches_outside(seed):
    random = np.random.default_rng(seed)
    a = np.zeros(tuple(random.integers(1, 14, 3)) + (int(random.integers(1, 3 * PAGE)),), dtype=np.int8)
    cuts = tuple(slice(*sorted(random.integers(0, n + 1, 2)), random.integers(1, 4)) for n in a.shape)
    view = a[cuts][tuple(slice(None, None, random.choice((1, -1))) for _ in cuts)].transpose(random.permutation(4))
    ranges = covered(view)
    flat = np.zeros(a.nbytes, dtype=bool)
    for address, size in ranges:
        begin = address - a.ctypes.data
        assert 0 <= begin < begin + size <= a.nbytes
        flat[begin:begin + size] = True
    places = np.arange(a.size).reshape(a.shape)
    wanted = places[cuts].ravel()
    assert flat[wanted].all()
    assert (wanted.size == 0) == (not ranges)
    if wanted.size:
        assert np.flatnonzero(flat)[[0, -1]].tolist() == [wanted.min(), wanted.max()]


@pytest.mark.parametrize("kind", ["f2", ">i4", "M8[ns]", "m8[D]", "U5", "S3", "O", "f8,i4", "c16", "?"])
def test_elements_of_any_type_are_covered(kind):
    a = np.zeros((7, 100), kind)
    assert covered(a) == [(a.ctypes.data, a.nbytes)]
    assert covered(a[2:4, 5:]) == [(a[2:, 5:].ctypes.data, 195 * a.itemsize)]


def test_objects_of_others_that_are_like_arrays_have_the_size_that_they_say():
    class Like:
        def __init__(self, kind):
            self.__array_interface__ = {"data": (4096, False), "typestr": kind, "shape": (10,), "version": 3}
    assert [covered(Like(kind)) for kind in ("<M8[us]", "|O", "<U3")] == [[(4096, 80)], [(4096, 80)], [(4096, 120)]]
    with pytest.raises(TypeError, match="how large the elements of an array of type 'strange' are"):
        covered(Like("strange"))


def test_buffers_of_the_standard_library():
    data = bytearray(100)
    ((address, size),) = covered(data)
    assert size == 100 and covered(memoryview(data)[7:9]) == [(address + 7, 2)]
    data.append(1)  # no export of the buffer is left behind
    assert covered(bytearray()) == []
    with pytest.raises(TypeError, match="can be written"):
        covered(b"bytes")
    with pytest.raises(TypeError, match="contiguous"):
        covered(memoryview(data)[::2])


def test_priorities_have_bounds():
    with pytest.raises(ValueError, match="0 to 7, not 8"):
        _hints.release(bytearray(8), priority=8)
    with pytest.raises(TypeError, match="as an integer"):
        _hints.release(bytearray(8), priority=2.5)


def test_what_takes_no_hints_is_an_error_also_where_nothing_is_paged():
    """A script that was tried there meets no new errors where it matters."""
    for hint in (_hints.prefetch, _hints.release):
        with pytest.raises(TypeError, match="list is none of them"):
            hint([1.0])


# --- tables, columns and matrices: what people have in place of arrays ---------------------------------

def holds(data, array) -> bool:
    """Whether the memory of the array is among what is covered."""
    return (array.ctypes.data, array.nbytes) in covered(data)


class Column:
    """As pyarrow's columns are, in what is asked of them."""

    def __init__(self, values, offset, length):
        self.values, self.offset, self.length = values, offset, length
        self.type = self

    bit_width = 64

    def __len__(self):
        return self.length

    def buffers(self):
        return [None, self]

    @property
    def address(self):
        return self.values.ctypes.data

    @property
    def size(self):
        return self.values.nbytes


class Chunked:
    def __init__(self, *chunks):
        self.chunks = list(chunks)


class Table:
    def __init__(self, *columns):
        self.columns = list(columns)

    def itercolumns(self):
        return iter(self.columns)


class Sparse:
    def __init__(self, n):
        self.data, self.indices, self.indptr = np.zeros(n), np.zeros(n, np.int32), np.zeros(9, np.int32)

    def tocsr(self):
        return self


def test_columns_in_pieces_and_tables_of_them():
    a, b = np.zeros(1000), np.zeros(500)
    table = Table(Chunked(Column(a, 0, 1000), Column(b, 100, 50)), Chunked())
    assert covered(table) == sorted([(a.ctypes.data, 8000), (b.ctypes.data + 800, 400)])


def test_a_sparse_matrix_is_its_three_arrays():
    matrix = Sparse(100)
    assert len(covered(matrix)) == 3 and holds(matrix, matrix.data) and holds(matrix, matrix.indices) and holds(matrix, matrix.indptr)


def test_what_is_none_of_these_is_named():
    with pytest.raises(TypeError, match="list is none of them"):
        covered([1, 2, 3])


def test_with_the_libraries_themselves():
    """As far as they are installed; nothing is copied."""
    a = np.arange(5000.0)
    for name, made in (("pandas", lambda m: (m.Series(a, copy=False), m.DataFrame({"x": m.Series(a, copy=False)}, copy=False))),
                       ("polars", lambda m: (m.Series(a), m.DataFrame({"x": m.Series(a)}))),
                       ("pyarrow", lambda m: (m.array(a), m.table({"x": m.array(a)}), m.chunked_array([a]))),
                       ("scipy.sparse", lambda m: (m.csr_matrix((a, np.zeros(5000, np.int32), np.array([0, 5000]))),))):
        try:
            module = __import__(name, fromlist=["x"])
        except ImportError:
            continue
        for data in made(module):
            assert sum(size for _, size in covered(data)) >= a.nbytes, (name, data)
            if name != "scipy.sparse":
                address, size = next(r for r in covered(data) if r[1] == a.nbytes)
                assert address == a.ctypes.data or name == "polars", name  # which copies what it is made of
