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
    return sorted(_hints._ranges(view))


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
