# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases: programs of the kinds that once lost by pagecast, each in core, on swap, with pagecast, and with pagecast
without slices, cold, in turns.

A run is stopped at five times the best of the other contenders so far. All outputs must be the same to the byte.
The table, in Markdown, goes to standard output, progress to standard error, and all raw samples to a JSON file,
from which the table can be made again."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from harness import runs
from harness.asked import Failed, chosen, parse
from harness.building import KINDS, Source, compile_once
from harness.contenders import ROOT
from experiments.cases_table import CONTENDERS, cases_markdown
from harness.contest import PassContest
from harness.experiment import main, run_paged
from harness.report import Screen, parse_size

SOURCES = ROOT / "tests" / "cases"
SMALL_LIMIT, SMALL_PYTHON_LIMIT = "32M", "64M"


@dataclass(frozen=True)
class Case:
    words: str
    source: str
    arguments: tuple[object, ...]
    small: tuple[object, ...]  # the same for a look at the harness
    limit: str
    data: str  # bytes of it, about: for the swap file
    twin: str | None = None  # another case that does the same in another way
    has_file: bool = False  # its data file is made first, by the program with "make" as its last argument

    @property
    def is_python(self) -> bool:
        return self.source.endswith(".py")


CASES = {
    "histograms": Case("histograms by an ascending list, all rows", "histograms.c", (8_000_000, 48, 1), (1_500_000, 40, 1), "160M", "600M"),
    "histograms-few": Case("the same, every fourth row", "histograms.c", (8_000_000, 48, 4), (1_500_000, 40, 4), "160M", "600M"),
    "gates": Case("gates by shifts and masks", "gates.c", (24, "shifts"), (22, "shifts"), "96M", "300M", twin="gates-nest"),
    "gates-nest": Case("the same gates as a nest", "gates.c", (24, "nest"), (22, "nest"), "96M", "300M"),
    "records": Case("rows that a record names", "records.c", (60_000, 20_000, 300), (5_000, 1_000, 300), "160M", "600M"),
    "mirrored": Case("a matrix stored by rows and columns", "mirrored.c", (6_000, 2), (2_500, 1), "256M", "300M"),
    "suffixes": Case("suffix array", "suffixes.c", (12_000_000,), (7_000_000,), "48M", "100M"),
    "buckets": Case("sort into buckets, repeated", "buckets.c", (33_000_000, 4), (6_000_000, 2), "110M", "300M"),
    "ranks": Case("ranks of a graph, 15 rounds", "ranks.c", (1_500_000, 16, 15), (400_000, 16, 4), "64M", "200M"),
    "triangles": Case("triangles, forward and back", "triangles.c", (4_000, 4), (2_600, 3), "40M", "200M"),
    "rounds": Case("rows by lot, the same each round", "rounds.c", (16_800, 20), (8_400, 12), "64M", "150M"),
    "product-mapped": Case("numpy: product, mapped file", "product.py", (12_000, 6_000, "mapped"), (6_000, 4_000, "mapped"), "96M", "400M",
                           has_file=True),
    "product-heap": Case("numpy: product, heap", "product.py", (12_000, 6_000, "heap"), (6_000, 4_000, "heap"), "96M", "400M", has_file=True),
}
EXAMPLES = f"""\
cases: {', '.join(f'{n} ({c.words})' for n, c in CASES.items())}
contenders: {', '.join(f'{n} ({w})' for n, w in CONTENDERS.items())}

examples:
  make cases                                                   everything once (root; ten minutes)
  make cases CASES_ARGS='--programs gates,gates-nest --runs 3'
  make cases CASES_ARGS='--contenders pagecast,without'        what slices cost and bring, nothing else
  make cases CASES_ARGS='--small'                              a look at the harness (a minute)
  make cases CASES_ARGS='--table results/cases.json'           the table again, without measuring
  make cases CASES_ARGS='--continue results/cases.json'        the runs that it lacks, after an interruption

exit status: 0 measured; 1 an output differed or a run of ours failed; 2 it could not be measured; 130 interrupted"""


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(CASES), metavar="A,B")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), metavar="A,B")
    parser.add_argument("--runs", type=int, default=1, help="of each contender; default 1")
    parser.add_argument("--small", action="store_true", help=f"small data under {SMALL_LIMIT} or {SMALL_PYTHON_LIMIT}, to look at the harness")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS",
                        help="a run that takes longer is given up, and is not repeated; default 120")
    options = parse(parser, "cases", words, "files, swap")
    options.chosen = chosen(options.programs, CASES, "--programs")
    options.kinds = chosen(options.contenders, CONTENDERS, "--contenders")
    return options


class Cases(PassContest):
    NAME, ENTRIES, CONTENDERS, OURS = "cases", "cases", CONTENDERS, ("pagecast", "without")

    def __init__(self, options: argparse.Namespace, screen: Screen):
        super().__init__(options, screen, [self.new_entry(name, CASES[name], options.small) for name in options.chosen])

    @staticmethod
    def new_entry(name: str, case: Case, is_small: bool) -> dict:
        small = SMALL_PYTHON_LIMIT if case.is_python else SMALL_LIMIT
        limit = small if is_small else case.limit
        return {"name": name, "words": case.words, "twin": case.twin, "limit_bytes": parse_size(limit), "data_bytes": parse_size(case.data)}

    def prepare(self):
        self.options.work.mkdir(parents=True, exist_ok=True)
        sources = dict.fromkeys(CASES[n].source for n in self.options.chosen if not CASES[n].is_python)
        self.screen.say(f"building {len(sources)} programs, plain and with pagecast")
        for source in sources:
            for kind in KINDS:
                name = source.removesuffix(".c")
                compile_once(Source(name, SOURCES / source, ("-D_GNU_SOURCE", "-g")), kind, self.options.build, self.executable(source, kind))

    def executable(self, source: str, kind: str) -> Path:
        return self.options.work / f"{source.removesuffix('.c')}-{kind}"

    def measure(self):
        data = max(e["data_bytes"] for e in self.entries)
        self.refuse_in_core(data)
        self.measure_within(min(e["limit_bytes"] for e in self.entries), data)

    def run(self, entry: dict, contender: str) -> runs.Run:
        command, limit, timeout = self.command(CASES[entry["name"]], contender), entry["limit_bytes"], self.patience(entry, contender)
        if contender in self.OURS:
            options = ("--option", "slices=0") if contender == "without" else ()
            return run_paged(self.pagecast, self.options.work, limit, command, timeout, *options)
        if contender == "swap":
            return self.run_limited(command, limit, timeout, on_swap=True)
        return self.run_in_core(command, timeout)

    def command(self, case: Case, contender: str) -> list:
        arguments = list(case.small if self.options.small else case.arguments)
        if not case.is_python:
            return [self.executable(case.source, "pagecast" if contender in self.OURS else "plain"), *arguments]
        program = [sys.executable, SOURCES / case.source]
        if case.has_file:
            arguments.insert(0, self.make_file(program, arguments[:-1]))
        return program + arguments

    def make_file(self, program: list, arguments: list) -> Path:
        file = self.options.work / f"data-{'-'.join(map(str, arguments))}"
        if not file.exists():
            done = runs.run([*program, file, *arguments, "make"])
            if not done.ok:
                raise Failed(f"the file of {program[-1].name} cannot be made: {done.errors.strip()[-300:]}")
        return file


if __name__ == "__main__":
    sys.exit(main("cases", parse_arguments, cases_markdown, Cases))
