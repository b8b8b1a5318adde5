# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The field: six workloads, one of them with a hot part, each with pagecast on heap data and on a mapped file, beside
a version by hand (direct I/O, io_uring), plain mmap and Linux swap, all under the same memory limit, cold, in turns.

What is compared is the pass, as the programs time it: the data are made or mapped before, and checked after.
The table, in Markdown, goes to standard output, progress to standard error, and all raw samples to a JSON file,
from which the table can be made again."""

import argparse
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness import disk
from harness import runs
from harness.asked import Failed, chosen, parse
from harness.building import Source, compile_once
from harness.contenders import ROOT
from experiments.field_table import CONTENDERS, field_markdown
from harness.figures import identical
from harness.experiment import main, phases, result, run_paged
from harness.limits import MemoryGroup, limit_refusal
from harness.report import Screen, parse_size, write_json
from harness.swap import SwapFile, others_in_use, swap_for
from harness.turns import Part, make, missing, run_part

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


class Field:
    def __init__(self, options: argparse.Namespace, screen: Screen):
        self.options, self.screen = options, screen
        self.pagecast = options.build / "bin" / "pagecast"
        self.unavailable: dict[str, str] = {}  # contender: why
        self.disk_samples: list[dict] = []
        self.complete = False
        self.swap: SwapFile | None = None
        self.entries = {name: {"name": name, "words": WORKLOADS[name].words, "samples": {c: [] for c in CONTENDERS}}
                        for name in options.chosen}

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

    def resume(self, earlier: dict):
        self.disk_samples = earlier["disk_samples"]
        self.entries = {w["name"]: w for w in earlier["workloads"]}

    def measure(self):
        options = self.options
        reason = limit_refusal(options.limit_bytes)
        if reason:
            self.unavailable = {c: reason for c in options.kinds}
            self.screen.say(f"not measured: {reason}")
            return
        parts = missing(options.runs, self.turn, self.measure_disk)
        try:
            with self.screen.steps(len(parts)):
                self.make(parts)
        finally:
            for file in options.work.glob("data-*"):
                file.unlink()
        self.complete = True

    def make(self, parts: list[Part]):
        options = self.options
        wanted = parts and "swap" in options.kinds
        with swap_for(options.data_bytes, options.work, self.screen.say) if wanted else nullcontext() as self.swap:
            if self.swap and self.swap.why_not:
                self.unavailable["swap"] = self.swap.why_not
            make(parts, self.screen, self.save)

    def save(self):
        write_json(self.options.json, self.result())

    def measure_disk(self):
        self.disk_samples.append(vars(disk.measure(self.pagecast, self.options.work, 1)))

    def turn(self, _: int) -> list[Part]:
        return [run_part(f"{WORKLOADS[name].words}: {CONTENDERS[contender]}", entry["samples"][contender],
                         partial(self.sample, name, contender), lambda c=contender: c not in self.unavailable)
                for name, entry in self.entries.items() for contender in self.options.kinds]

    def sample(self, name: str, contender: str) -> dict:
        done = self.run(WORKLOADS[name], contender)
        times = phases(done.errors)
        if done.ok and "pass" not in times:
            raise Failed(f"{name}, {CONTENDERS[contender]}, printed no time of its pass: {done.errors.strip()[-300:]}")
        return {**done.sample(), "pass_s": times.get("pass"), "phases": times, "errors": "" if done.ok else done.errors[-400:]}

    def run(self, workload: Workload, contender: str) -> runs.Run:
        if contender in ON_FILES:
            self.make_data(workload)
        kind = {"byhand": "byhand", "heap": "pagecast", "mapped": "pagecast"}.get(contender, "plain")
        command = [self.executable(workload.program, kind), *self.arguments(workload, contender)]
        options = self.options
        if kind == "pagecast":
            return run_paged(self.pagecast, options.work, options.limit_bytes, command, options.timeout)
        disk.forget()
        if contender == "swap":
            with self.swap.on(), MemoryGroup(options.limit_bytes, swap=True) as group:
                return runs.run(command, group, timeout=options.timeout)
        with MemoryGroup(options.limit_bytes, swap=False) as group:
            return runs.run(command, group, timeout=options.timeout)

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
        return result("field", self.options, data_bytes=self.options.data_bytes, gathers=self.options.gathers, contenders=self.options.kinds,
                      unavailable=self.unavailable, other_swap=others_in_use(), complete=self.complete,
                      disk_samples=self.disk_samples, workloads=list(self.entries.values()))

    def failures(self) -> list[str]:
        """What must not be. That a plain program was killed or given up is a result."""
        out = []
        for entry in self.entries.values():
            for contender in ("byhand", "heap", "mapped"):
                bad = [s for s in entry["samples"][contender] if s["status"] not in ("ok", "timeout")]
                out += [f"{entry['words']}: {CONTENDERS[contender]} ended with {s['status']}: {s['errors'].strip()}" for s in bad]
            if identical(entry["samples"]) is False:
                out.append(f"{entry['words']}: not every output is the same")
        return list(dict.fromkeys(out))


if __name__ == "__main__":
    sys.exit(main("field", parse_arguments, field_markdown, Field))
