# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least bytes that a program's data make any system with that much memory move.

A program is written down as the sweeps that it makes, in order; a sweep passes once over some arrays. Let M be the
memory. Nothing is assumed of the system but that it executes the sweeps in this order: it may know the whole future
and replace as it likes.

Reads. Take any run of consecutive sweeps. Of the bytes that it reads before it writes them, at most M were in memory
when it began; the others were read during it.
Writes. Of the bytes that a run of sweeps stores to and that are read after it, at most M were in memory when it ended;
the others had been written since they were stored to, thus during it.
Runs that do not overlap do not count the same byte twice, so the bound is the sum over any division of the program
into runs; it is computed for the division that makes it largest.

Values are not looked at: a system that compresses data, or notices that a page holds zeros, may move less."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Traffic:
    """Bytes that any system with that much memory must move."""
    read: int
    written: int

    def seconds(self, read_rate: float, write_rate: float) -> float:
        """The disk does one thing at a time: reads and writes share its time."""
        return self.read / read_rate + self.written / write_rate


@dataclass(frozen=True)
class Sweep:
    """One pass over arrays, named as in `sizes`. What is in both sets is read before it is stored to."""
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


def sweep(reads: str = "", writes: str = "") -> Sweep:
    """sweep("u v", "r") passes over u and v and makes r."""
    return Sweep(frozenset(reads.split()), frozenset(writes.split()))


@dataclass(frozen=True)
class Work:
    """`sizes`: bytes of each array. `cold`: bytes of files that are read, of which none is in memory at the start."""
    sweeps: Sequence[Sweep]
    sizes: dict[str, int]
    cold: int = 0

    def least(self, memory: int) -> Traffic:
        return Traffic(_least_read(self.sweeps, self.sizes, memory) + self.cold, _least_written(self.sweeps, self.sizes, memory))


def _least_read(sweeps: Sequence[Sweep], sizes: dict[str, int], memory: int) -> int:
    """best[i]: of the sweeps from i on."""
    defined = _defined_before(sweeps)
    best = [0] * (len(sweeps) + 1)
    for first in reversed(range(len(sweeps))):
        seen: set[str] = set()
        wanted = 0
        for end in range(first, len(sweeps)):
            # Untouched memory is zero and need not be read.
            wanted += sum(sizes[a] for a in sweeps[end].reads - seen if a in defined[first])
            seen |= sweeps[end].reads | sweeps[end].writes
            best[first] = max(best[first], max(0, wanted - memory) + best[end + 1])
            if len(seen) == len(sizes):
                break  # a longer run wants no more
    return best[0]


def _least_written(sweeps: Sequence[Sweep], sizes: dict[str, int], memory: int) -> int:
    """best[i]: of the first i sweeps."""
    live = _live_after(sweeps)
    best = [0] * (len(sweeps) + 1)
    for last in range(len(sweeps)):
        stored: set[str] = set()
        best[last + 1] = best[last]
        for first in reversed(range(last + 1)):
            stored |= sweeps[first].writes & live[last]
            best[last + 1] = max(best[last + 1], max(0, sum(sizes[a] for a in stored) - memory) + best[first])
            if len(stored) == len(live[last]):
                break  # a longer run leaves no more
    return best[-1]


def _defined_before(sweeps: Sequence[Sweep]) -> list[frozenset[str]]:
    """The arrays that have been stored to before each sweep."""
    out, defined = [], frozenset()
    for each in sweeps:
        out.append(defined)
        defined |= each.writes
    return out


def _live_after(sweeps: Sequence[Sweep]) -> list[frozenset[str]]:
    """The arrays whose values are read after each sweep."""
    out, live = [], frozenset()
    for each in reversed(sweeps):
        out.append(live)
        live = (live - each.writes) | each.reads
    return out[::-1]
