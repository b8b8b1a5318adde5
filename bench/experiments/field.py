# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The field: six workloads, one of them with a hot part, each with pagecast on heap data and on a mapped file, beside
a version by hand (direct I/O, io_uring), plain mmap and Linux swap, all under the same memory limit, cold, in turns.

What is compared is the pass, as the programs time it: the data are made or mapped before, and checked after.
The table, in Markdown, goes to standard output, progress to standard error, and all raw samples to a JSON file,
from which the table can be made again."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from harness import runs
from harness.asked import Failed, chosen, parse
from harness.building import Source, compile_once
from harness.contenders import ROOT
from experiments.field_table import CONTENDERS, field_markdown
from harness.contest import PassContest
from harness.experiment import main, run_paged
from harness.report import Screen, parse_size

FIELD = ROOT / "apps" / "field"


@dataclass(frozen=True)
class Workload:
    words: str
    program: str
    kind: str  # of data: generate's
    options: tuple[str, ...] = ()
    share: float = 1.0  # of the data that is read from a file; the rest is output
    changes: bool = False  # the file, which is made again before each run
    memory: bool = False  # the version by hand wants to know how much it has


WORKLOADS = {
    "sum": Workload("sequential sum", "sum", "words"),
    "update": Workload("read-modify-write", "update", "words", changes=True),
    "gather": Workload("random gathers", "gather", "words", memory=True),
    "hot": Workload("hot gathers", "gather", "words", ("--hot", "900"), memory=True),
    "multiply": Workload("matrix-vector ×3", "multiply", "entries", memory=True),
    "scatter": Workload("bucket scatter", "scatter", "keys", share=0.5, memory=True),
}
ON_FILES = ("byhand", "mapped", "mmap")
EXAMPLES = f"""\
workloads: {', '.join(f'{n} ({w.words})' for n, w in WORKLOADS.items())}
contenders: {', '.join(f'{n} ({w})' for n, w in CONTENDERS.items())}

examples:
  make field                                                       everything (root; half an hour)
  make field FIELD_ARGS='--workloads gather --contenders byhand,heap'
  make field FIELD_ARGS='--limit 64M --data 256M --runs 1'         a look at the harness
  make field FIELD_ARGS='--table results/field.json'               the table again, without measuring
  make field FIELD_ARGS='--continue results/field.json'            the runs that it lacks, after an interruption

exit status: 0 measured; 1 an output differed or a run of ours failed; 2 it could not be measured; 130 interrupted"""


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default=",".join(WORKLOADS), metavar="A,B")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), metavar="A,B")
    parser.add_argument("--runs", type=int, default=3, help="of each contender; default 3")
    parser.add_argument("--limit", default="256M", help="memory of every contender; default 256M")
    parser.add_argument("--data", help="bytes; default: four times the limit")
    parser.add_argument("--gathers", type=int, default=200_000, metavar="N", help="random accesses; default 200000")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS",
                        help="a run that takes longer is given up, and is not repeated; default 300")
    options = parse(parser, "field", words, "data, swap")
    options.chosen = chosen(options.workloads, WORKLOADS, "--workloads")
    options.kinds = chosen(options.contenders, CONTENDERS, "--contenders")
    options.data_bytes = parse_size(options.data) if options.data else 4 * options.limit_bytes
    options.data_bytes -= options.data_bytes % (2 << 20)
    if options.data_bytes < 16 << 20:
        raise Failed(f"--data {options.data}: too little to be paged; use 16M or more")
    if options.gathers < 1:
        raise Failed(f"--gathers {options.gathers}: at least one is needed")
    return options


class Field(PassContest):
    NAME, ENTRIES, CONTENDERS, OURS = "field", "workloads", CONTENDERS, ("byhand", "heap", "mapped")

    def __init__(self, options: argparse.Namespace, screen: Screen):
        super().__init__(options, screen, [{"name": name, "words": WORKLOADS[name].words} for name in options.chosen])

    def executable(self, name: str, kind: str) -> Path:
        return self.options.work / f"{name}-{kind}"

    def prepare(self):
        self.options.work.mkdir(parents=True, exist_ok=True)
        names = dict.fromkeys(WORKLOADS[w].program for w in self.options.chosen)
        self.screen.say(f"building {len(names)} programs: plain, with pagecast and by hand")
        compile_once(Source("generate", FIELD / "generate.c"), "plain", self.options.build, self.executable("generate", "plain"))
        for name in names:
            for kind in ("plain", "pagecast"):
                compile_once(Source(name, FIELD / f"{name}.c"), kind, self.options.build, self.executable(name, kind))
            compile_once(Source(name, FIELD / "byhand" / f"{name}.c", ("-luring",)), "plain", self.options.build,
                         self.executable(name, "byhand"))

    def measure(self):
        self.measure_within(self.options.limit_bytes, self.options.data_bytes)

    def run(self, entry: dict, contender: str) -> runs.Run:
        workload = WORKLOADS[entry["name"]]
        if contender in ON_FILES:
            self.make_data(workload)
        kind = {"byhand": "byhand", "heap": "pagecast", "mapped": "pagecast"}.get(contender, "plain")
        command = [self.executable(workload.program, kind), *self.arguments(workload, contender)]
        options = self.options
        if kind == "pagecast":
            return run_paged(self.pagecast, options.work, options.limit_bytes, command, options.timeout)
        return self.run_limited(command, options.limit_bytes, options.timeout, on_swap=contender == "swap")

    def arguments(self, workload: Workload, contender: str) -> list:
        out = ["--memory-size", self.options.data_bytes, "--times", *workload.options]
        if workload.program == "gather":
            out += ["--count", self.options.gathers]
        if contender in ON_FILES:
            out += ["--file", self.input_file(workload)]
            out += ["--output", self.data_file("output")] if workload.share < 1 else []
        if contender == "byhand" and workload.memory:
            out += ["--memory", self.options.limit_bytes * 3 // 4]
        return out

    def data_file(self, kind: str) -> Path:
        return self.options.work / f"data-{kind}"

    def make_data(self, workload: Workload):
        """What is there already stays, unless runs change it. An output file has its blocks: files with holes would be
        filled by some contenders and not by others."""
        size = int(self.options.data_bytes * workload.share)
        self.make_file(self.input_file(workload), workload.kind, size, again=workload.changes)
        if workload.share < 1:
            self.make_file(self.data_file("output"), "zeros", size, again=False)

    def input_file(self, workload: Workload) -> Path:
        return self.data_file("changed" if workload.changes else workload.kind)

    def make_file(self, file: Path, kind: str, size: int, again: bool):
        if not again and file.exists() and file.stat().st_size == size:
            return
        done = runs.run([self.executable("generate", "plain"), "--file", file, "--kind", kind, "--bytes", size])
        if not done.ok:
            raise Failed(f"the data cannot be made: {done.errors.strip()}")

    def result(self) -> dict:
        return super().result(data_bytes=self.options.data_bytes, gathers=self.options.gathers)


if __name__ == "__main__":
    sys.exit(main("field", parse_arguments, field_markdown, Field))
