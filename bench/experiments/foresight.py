# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a system moves that knows all that is to come, but not which contents are dead, beside the least bytes.

The least (least_io.py) may not be reachable: reads and writes are bounded each on their own, and data that will be
stored over before they are read need not be written. No page of a program tells that; it takes a proof about all that
the program may read until then. Here the same sweeps run through a memory that gives up first what is wanted last, as
core/memory/forecast.h ranks it, from a perfect forecast, and writes what was stored to. What is left between that and what was
measured is the system's own; what is left between that and the least is what nobody has without such proofs."""

import argparse
import heapq
import sys
from collections.abc import Iterator

from harness.contenders import NINE, chosen_programs
from harness.least_io import Sweep, Traffic, Work
from harness.markdown import table
from harness.report import parse_size

NEVER = 1 << 62


def accesses(work: Work, lot: int) -> list[tuple[tuple[str, int], bool, bool]]:
    """Lots in the order in which they are touched, whether they are read, and whether stored to. A sweep passes over its
    arrays side by side, from one end to the other."""
    def of(sweep: Sweep) -> Iterator[tuple[float, tuple[str, int], bool, bool]]:
        for array in sorted(sweep.reads | sweep.writes):
            lots = max(1, round(work.sizes[array] / lot))
            for i in range(lots):
                yield (i + 0.5) / lots, (array, i), array in sweep.reads, array in sweep.writes
    return [each[1:] for sweep in work.sweeps for each in sorted(of(sweep))]


def rank(at: int, wanted: int, reads: bool, writes: bool, dirty: bool) -> int:
    """As core/memory/forecast.h: what is not loaded and stored to both goes half as far again before what is wanted then."""
    if wanted == NEVER or not (reads or dirty):
        return NEVER
    return wanted if reads and writes else wanted + (wanted - at) // 2


def foreseen(work: Work, memory: int, lot: int = 1 << 20, knows_dead: bool = False) -> Traffic:
    """Bytes moved with `memory` bytes. `knows_dead`: what will not be read is not written. Cost: seconds for 10^6 lots."""
    all_accesses = accesses(work, lot)
    wanted = [NEVER] * len(all_accesses)  # when the lot of an access is touched next
    last: dict = {}
    for at in reversed(range(len(all_accesses))):
        wanted[at] = last.get(all_accesses[at][0], NEVER)
        last[all_accesses[at][0]] = at
    since: dict = {}  # lot in memory: its last access
    dirty, defined, going = set(), set(), []
    read = written = 0
    for at, (place, reads, writes) in enumerate(all_accesses):
        read += place not in since and reads and place in defined
        if writes:
            dirty.add(place)
            defined.add(place)
        since[place] = at
        _, next_reads, next_writes = all_accesses[wanted[at]] if wanted[at] < NEVER else (None, False, False)
        heapq.heappush(going, (-rank(at, wanted[at], next_reads, next_writes, place in dirty), at, place))
        while len(since) > memory // lot:
            _, when, gone = heapq.heappop(going)
            if since.get(gone) != when:
                continue
            del since[gone]
            alive = wanted[when] < NEVER and all_accesses[wanted[when]][1]
            written += gone in dirty and (alive or not knows_dead)
            dirty.discard(gone)
    return Traffic(read * lot + work.cold, written * lot)


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(p.name for p in NINE), metavar="A,B", help="NAME or NAME:MULTIPLE of the limit")
    parser.add_argument("--limit", default="256M", help="what the data are multiples of, and the least bytes are for; default 256M")
    parser.add_argument("--memory", default="224M", help="what is left of that for data; default 224M, as pagecast has")
    return parser.parse_args(words)


def main() -> int:
    options = parse_arguments()
    limit, memory = parse_size(options.limit), parse_size(options.memory)
    rows = []
    for program in chosen_programs(options.programs):
        work = program.work(program.data_bytes(limit))
        moved = (work.least(limit), foreseen(work, memory, knows_dead=True), foreseen(work, memory))
        rows.append([program.name, *(f"{t.read / 2**20:.0f} / {t.written / 2**20:.0f}" for t in moved)])
    print("MiB read / written\n")
    print(table(["program", "least", f"foreseen, dead contents known, {options.memory}", f"foreseen, {options.memory}"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
