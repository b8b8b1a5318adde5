#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a failing program of the fuzzer smaller: first whole units, then blocks and lines of its text.

A smaller program counts if it fails in the same way (crash, output, ...) in one of a few runs, and is free of
undefined behaviour as far as the sanitizers see. The smallest is written to FOLDER/reduced.c.

example:
  tests/fuzz/reduce.py results/fuzz/77"""

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path

from data import PRELUDE
from fuzz import ROOT
from generate import program, unit_count
from trial import Settings, Trial


class Failure:
    """Whether a source still fails as the first did."""

    def __init__(self, trial: Trial, kind: str, tries: int, smallest: Path):
        self.trial, self.kind, self.tries, self.smallest = trial, kind, tries, smallest
        self.tested = 0

    def remains(self, source: str) -> bool:
        self.tested += 1
        if not self.trial.compare(source, tries=self.tries)[0].startswith(self.kind):
            return False
        if self.kind != "compile" and self.trial.sanitize(source):
            return False
        self.smallest.write_text(source)  # for those who do not wait for the end
        return True


def reduce_units(failure: Failure, seed: int) -> str:
    units = list(range(unit_count(seed)))
    for unit in list(units):
        fewer = [u for u in units if u != unit]
        if failure.remains(program(seed, fewer)):
            units = fewer
    print(f"units {units} after {failure.tested} trials", flush=True)
    return program(seed, units)


def block_end(lines: list[str], start: int) -> int:
    """The line that closes the block that line `start` opens, or `start` if it opens none."""
    depth = 0
    for i in range(start, len(lines)):
        depth += lines[i].count("{") - lines[i].count("}")
        if depth <= 0:
            # A block that goes on with else or while closes later.
            if i + 1 < len(lines) and "else" in lines[i + 1].split("{")[0]:
                continue
            return i
        if i > start and depth == 0:
            return i
    return start


def smaller_versions(lines: list[str], start: int):
    """Ways to do with less at a line: without it and its block, without what surrounds the block, without the loop."""
    end = block_end(lines, start)
    yield lines[:start] + lines[end + 1 :]
    if end > start:
        yield lines[:start] + lines[start + 1 : end] + lines[end + 1 :]
    elif start + 1 < len(lines) and lines[start].rstrip().endswith(")"):
        yield lines[:start] + lines[start + 2 :]  # an if or for with the statement under it


def reduce_lines(failure: Failure, source: str):
    """Takes out blocks and lines, from the end to the beginning, until nothing more can go."""
    head, lines = PRELUDE.count("\n") + 1, source.splitlines()
    again = True
    while again:
        again, i = False, len(lines) - 1
        while i >= head:
            if i < len(lines) and lines[i].strip() not in ("", "}"):
                for fewer in smaller_versions(lines, i):
                    if failure.remains("\n".join(fewer) + "\n"):
                        lines, again = fewer, True
                        break
            i -= 1
        print(f"{len(lines) - head} lines after {failure.tested} trials", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a failure that the fuzzer has kept")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--tries", type=int, default=3, help="runs of each program, for failures that come and go")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the temporary folder goes
    outcome = json.loads((options.folder / "outcome.json").read_text())
    kind = outcome["failure"].split(":")[0]
    with tempfile.TemporaryDirectory(prefix="pagecast-reduce-") as folder:
        settings = Settings(outcome["level"], outcome["options"], tuple(outcome["flags"]))
        failure = Failure(
            Trial(options.build.resolve(), Path(folder), settings), kind, options.tries, options.folder / "reduced.c"
        )
        source = program(outcome["seed"])
        if not failure.remains(source):
            print(f"reduce: seed {outcome['seed']} does not fail now ({kind}); try more --tries", file=sys.stderr)
            return 1
        reduce_lines(failure, reduce_units(failure, outcome["seed"]))
    print(f"reduce: {options.folder / 'reduced.c'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
