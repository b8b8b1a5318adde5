# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that are gone through once, from the first to the last."""

import contextlib
from typing import Any, Iterator

from ._hints import prefetch, ranges, release
from ._runtime import budget

#: Bytes of a part: large beside what a request to a disk costs, small beside any budget (which is 16 MiB at least).
_PART = 4 << 20


class Parts:
    """The parts of an array along its first axis, as views: the next comes while one is worked on, and those before it go."""

    def __init__(self, array: Any, write: bool):
        self._array, self._write = array, write
        count = len(array)
        self._step = max(1, _PART * count // max(1, _bytes(array)))
        self._ahead = max(1, min(budget() // 4, 64 << 20) // _PART)  #: parts

    def _part(self, i: int) -> Any:
        return self._array[i * self._step:(i + 1) * self._step]

    def __len__(self) -> int:
        return -(-len(self._array) // self._step)

    def begin(self) -> None:
        for i in range(min(self._ahead, len(self))):
            prefetch(self._part(i), write=self._write)

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            if i + self._ahead < len(self):
                prefetch(self._part(i + self._ahead), write=self._write)
            yield self._part(i)
            release(self._part(i))


def _bytes(array: Any) -> int:
    size = getattr(array, "nbytes", None)  # of numpy's arrays and of memoryview
    return int(size) if size is not None else sum(size for _, size in ranges(array))


@contextlib.contextmanager
def sequential(array: Any, *, write: bool = False) -> Iterator[Parts]:
    """While the block lasts, `array` is gone through from the first to the last, and then it has had its turn.

        with pagecast.sequential(a) as parts:
            for part in parts:              # views of some 4 MiB along the first axis
                total += part.sum()

    Its beginning is asked for at once. Who goes through the parts has each fetched ahead, a quarter of the budget and at most
    64 MiB, and released behind. Who does not has the streams of faults for that. At the end the whole array is released, also
    after an exception: its contents are kept, and other data stay in memory in its stead. `write`: it is stored to, too. Cost:
    two hints a part. TypeError: as of prefetch, and for what has no length. Any thread."""
    parts = Parts(array, write)
    parts.begin()
    try:
        yield parts
    finally:
        release(array)
