#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs random programs made of loop nests with pagecast and without, and compares what they print.

Each seed is a program (generate.py), a level of optimisation and options of the runtime (trial.py). It is compiled
by clang and by pagecast-cc, and runs natively and with pagecast within 16 MiB, less than its data. What differs,
crashes or hangs is kept in results/fuzz/SEED: the program, both outputs and repeat.sh. reduce.py makes it smaller.

examples:
  tests/fuzz/fuzz.py --number 2000 --jobs 2         seeds 1 to 2000
  tests/fuzz/fuzz.py --seed 77 --number 1           that one again
  tests/fuzz/fuzz.py --seed 77 --number 1 --all-levels
  tests/fuzz/fuzz.py --number 200 --sanitize        are the programs themselves free of undefined behaviour?"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trial import LEVELS, Outcome, draw_settings, runtime_options, try_seed

ROOT = Path(__file__).resolve().parents[2]


class Summary:
    """Counts outcomes, and says whether they have tested anything."""

    def __init__(self):
        self.outcomes: list[Outcome] = []

    def add(self, outcome: Outcome):
        self.outcomes.append(outcome)

    @property
    def failed(self) -> list[Outcome]:
        return [o for o in self.outcomes if o.failure]

    def count(self, what) -> int:
        return sum(bool(what(o)) for o in self.outcomes)

    def figures(self) -> dict[str, int]:
        out = {
            "programs": len(self.outcomes),
            "failed": len(self.failed),
            "paged": self.count(lambda o: o.paged),
            "with nests": self.count(lambda o: o.figures.get("nests")),
        }
        for name in ("nests", "hinted pages", "slice hints", "faults", "pages evicted"):
            out[name] = sum(o.figures.get(name, 0) for o in self.outcomes)
        return out

    def idle(self) -> str:
        """Why a run without failures means nothing, if it does."""
        f = self.figures()
        if 2 * f["with nests"] < f["programs"]:
            return f"only {f['with nests']} of {f['programs']} programs opened nests: this tests too little"
        return ""

    def line(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in self.figures().items())


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--number", type=int, default=200, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs at a time")
    parser.add_argument("--level", choices=LEVELS, help="of optimisation, instead of one drawn for each seed")
    parser.add_argument("--all-levels", action="store_true", help="every program at every level")
    parser.add_argument("--sanitize", action="store_true", help="check the generator: plain programs under the sanitizers")
    parser.add_argument("--keep", type=Path, default=ROOT / "results" / "fuzz", help="where failures go")
    parser.add_argument("--json", type=Path, help="file for all outcomes")
    parser.add_argument("--stop", type=int, default=20, help="give up after so many failures")
    return parser.parse_args()


def show_progress(summary: Summary, total: int, began: float):
    done = len(summary.outcomes)
    if sys.stderr.isatty() or done % 100 == 0:
        end = "\r" if sys.stderr.isatty() else "\n"
        print(
            f"{done} of {total}, {len(summary.failed)} failed, {(time.monotonic() - began) / done:.2f} s each ",
            end=end,
            file=sys.stderr,
            flush=True,
        )


def fuzz(options, known: set[str]) -> Summary:
    levels = LEVELS if options.all_levels else [options.level]
    work = [(seed, level) for seed in range(options.seed, options.seed + options.number) for level in levels]
    summary, began = Summary(), time.monotonic()
    build, keep = options.build.resolve(), options.keep.resolve()

    def one(job) -> Outcome | None:
        if len(summary.failed) >= options.stop:
            return None
        return try_seed(build, Path(folder), keep, job[0], draw_settings(job[0], known, job[1]), options.sanitize)

    with tempfile.TemporaryDirectory(prefix="pagecast-fuzz-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(one, work):
            if outcome is None:
                continue
            summary.add(outcome)
            if outcome.failure:
                print(f"seed {outcome.seed} {outcome.level} {outcome.options or ''} {outcome.failure}", flush=True)
            show_progress(summary, len(work), began)
    return summary


def main() -> int:
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the temporary folder goes
    for file in ("bin/pagecast-cc", "lib/libpagecast.so"):
        if not (options.build / file).exists():
            print(
                f"fuzz: {options.build / file} is missing; run make build, or name the build tree with --build", file=sys.stderr
            )
            return 2
    summary = fuzz(options, runtime_options(options.build.resolve()))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(
            json.dumps({"summary": summary.figures(), "outcomes": [o.as_json() for o in summary.outcomes]}, indent=1) + "\n"
        )
    print(f"fuzz: {summary.line()}")
    if summary.failed:
        print(f"fuzz: failures are in {options.keep}")
    elif not options.sanitize and summary.idle():
        print(f"fuzz: {summary.idle()}")
        return 1
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
