# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The nine programs against the project's targets, in one run: the original on Linux swap and pagecast under the
same memory limit, cold, in turns; both builds in core, warm, in turns; code growth and compile time.

The table, in Markdown, goes to standard output, progress to standard error, and all raw samples to a JSON file,
from which the table can be made again."""

import argparse
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from harness import disk
from harness import runs
from harness.asked import chosen, parse
from harness.building import KINDS, code_bytes, compile_both, compile_times
from harness.contenders import NINE, VARIANTS, Program, chosen_programs, prepare_keys_for
from harness.figures import figures, identical
from harness.experiment import main, result, run_paged
from harness.limits import MemoryGroup, in_core_refusal, limit_refusal
from experiments.nine_table import CONTENDERS, nine_markdown
from harness.report import Screen, write_json
from harness.swap import others_in_use, swap_for
from harness.turns import Part, make, missing, run_part

PARTS = ("swap", "pagecast", "incore", "static")
PAIRS_IN_CORE = 2  # in each turn: plain, pagecast, pagecast, plain
COMPILES = 5
EXAMPLES = f"""\
programs: {', '.join(p.name for p in NINE)}
variants in other languages: {', '.join(p.name for p in VARIANTS) or 'none'}

examples:
  make nine                                               everything (root; about an hour)
  make nine NINE_ARGS='--only static'                     code growth and compile time (a minute)
  make nine NINE_ARGS='--programs cgm,mgrid:3 --runs 1'   two programs, MGRID on 3 times the limit, once
  make nine NINE_ARGS='--only swap,pagecast --limit 64M'  a look at the harness
  make nine NINE_ARGS='--table results/nine.json'         the table again, without measuring
  make nine NINE_ARGS='--continue results/nine.json'      the runs that it lacks, after an interruption

exit status: 0 measured; 1 an output differed or a run of ours failed; 2 it could not be measured; 130 interrupted"""


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(p.name for p in NINE), metavar="A,B",
                        help="NAME or NAME:MULTIPLE of the limit; default: all nine, with the papers' sizes")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,PART",
                        help="swap: the original on swap; pagecast: under the limit; incore: both builds without a limit; "
                             "static: code growth and compile time")
    parser.add_argument("--runs", type=int, default=3, help="of each contender; default 3")
    parser.add_argument("--limit", default="256M", help="memory of the original and of pagecast; default 256M")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS",
                        help="a run that takes longer is given up, and is not repeated; default 1800")
    options = parse(parser, "nine", words, "keys, swap")
    options.chosen = chosen_programs(options.programs)
    options.parts = chosen(options.only, PARTS, "--only")
    return options


class Nine:
    def __init__(self, options: argparse.Namespace, screen: Screen):
        self.options, self.screen = options, screen
        self.pagecast = options.build / "bin" / "pagecast"
        self.keys = options.work / "keys"
        self.unavailable: dict[str, str] = {}  # contender: why
        self.disk_samples: list[dict] = []
        self.complete = False
        self.entries = [self.new_entry(p) for p in options.chosen]

    def new_entry(self, program: Program) -> dict:
        total = program.data_bytes(self.options.limit_bytes)
        least = program.work(total).least(self.options.limit_bytes)
        return {"name": program.name, "multiple": program.multiple, "data_bytes": total,
                "arguments": program.arguments(total, "KEYS"), "least_bytes": {"read": least.read, "written": least.written},
                "in_core_refusal": None, "static": None, "samples": {c: [] for c in CONTENDERS}}

    def wants(self, part: str) -> bool:
        return part in self.options.parts

    def is_timed(self) -> bool:
        return any(self.wants(p) for p in PARTS if p != "static")

    def prepare(self):
        self.options.work.mkdir(parents=True, exist_ok=True)
        self.screen.say(f"building {len(self.options.chosen)} programs, plain and with pagecast")
        self.built = {p.name: compile_both(p, self.options.build, self.options.work) for p in self.options.chosen}
        if self.is_timed():
            prepare_keys_for(self.options.chosen, self.options.limit_bytes, self.keys, self.screen.say)

    def resume(self, earlier: dict):
        self.disk_samples = earlier["disk_samples"]
        self.entries = [{k: v for k, v in e.items() if k != "figures"} for e in earlier["programs"]]

    def measure(self):
        if self.is_timed():
            self.find_refusals()
        static = [p for p in self.static_parts() if not p.made()]
        timed = missing(self.options.runs * self.is_timed(), self.turn, self.measure_disk)
        with self.screen.steps(len(static) + len(timed)):
            make(static, self.screen, self.save)
            if timed:
                self.measure_timed(timed)
        self.complete = True

    def save(self):
        write_json(self.options.json, self.result())

    def static_parts(self) -> list[Part]:
        pairs = zip(self.options.chosen, self.entries) if self.wants("static") else []
        return [Part(f"{p.name}: code and compile time", partial(self.measure_static, p, e), lambda e=e: int(e["static"] is not None))
                for p, e in pairs]

    def measure_static(self, program: Program, entry: dict):
        entry["static"] = {"code_bytes": {k: code_bytes(self.built[program.name][k]) for k in KINDS},
                           "compile": compile_times(program, self.options.build, self.options.work, COMPILES)}

    def measure_timed(self, parts: list[Part]):
        """The swap file lasts as long as all turns, but is on only while the original runs."""
        wanted = self.wants("swap") and "original" not in self.unavailable
        most = max(p.data_bytes(self.options.limit_bytes) for p in self.options.chosen)
        with swap_for(most, self.options.work, self.screen.say) if wanted else nullcontext() as self.swap:
            if self.swap and self.swap.why_not:
                self.unavailable["original"] = self.swap.why_not
            make(parts, self.screen, self.save)

    def find_refusals(self):
        reason = limit_refusal(self.options.limit_bytes)
        for part, contender in (("swap", "original"), ("pagecast", "pagecast")):
            if reason and self.wants(part):
                self.unavailable[contender] = reason
                self.screen.say(f"not measured: {CONTENDERS[contender]}: {reason}")
        for program, entry in zip(self.options.chosen, self.entries):
            if self.wants("incore"):
                entry["in_core_refusal"] = in_core_refusal(program.data_bytes(self.options.limit_bytes))

    def measure_disk(self):
        self.disk_samples.append(vars(disk.measure(self.pagecast, self.options.work, 2)))

    def turn(self, _: int) -> list[Part]:
        return [part for p, e in zip(self.options.chosen, self.entries) for part in self.runs_of(p, e)]

    def runs_of(self, program: Program, entry: dict) -> list[Part]:
        samples, out = entry["samples"], []
        for part, contender, run in (("swap", "original", self.run_original), ("pagecast", "pagecast", self.run_pagecast)):
            if self.wants(part):
                out.append(run_part(f"{program.name}: {CONTENDERS[contender]}", samples[contender],
                                    lambda run=run: run(program).sample(), lambda c=contender: c not in self.unavailable))
        if self.wants("incore"):
            out.append(Part(f"{program.name}: in core", lambda: self.run_in_core(program, entry),
                            lambda: len(samples["in_core_plain"]) // PAIRS_IN_CORE))
        return out

    def command(self, program: Program, kind: str) -> list:
        return [self.built[program.name][kind], *program.arguments(program.data_bytes(self.options.limit_bytes), self.keys)]

    def run_original(self, program: Program) -> runs.Run:
        disk.forget()
        with self.swap.on(), MemoryGroup(self.options.limit_bytes, swap=True) as group:
            return runs.run(self.command(program, "plain"), group, timeout=self.options.timeout)

    def run_pagecast(self, program: Program) -> runs.Run:
        return run_paged(self.pagecast, self.options.work, self.options.limit_bytes, self.command(program, "pagecast"), self.options.timeout)

    def run_in_core(self, program: Program, entry: dict):
        """Warm: what the runs before emptied from the page cache is read back first. Neither build always comes first."""
        if entry["in_core_refusal"]:
            return
        warm([*self.built[program.name].values(), *([self.keys] if program.takes_keys else [])])
        new = {kind: [] for kind in KINDS}
        for pair in range(PAIRS_IN_CORE):
            for kind in KINDS if pair % 2 == 0 else reversed(KINDS):
                new[kind].append(runs.run(self.command(program, kind), timeout=self.options.timeout).sample())
        for kind in KINDS:
            entry["samples"][f"in_core_{kind}"] += new[kind]

    def result(self) -> dict:
        """Raw samples first of all; the figures are there for whoever reads the file without this code."""
        return result("nine", self.options, parts=self.options.parts, unavailable=self.unavailable, other_swap=others_in_use(),
                      complete=self.complete, disk_samples=self.disk_samples,
                      programs=[{**e, "figures": figures(e, self.disk_samples)} for e in self.entries])

    def failures(self) -> list[str]:
        """What must not be. That the original was killed or given up is a result."""
        out = []
        for entry in self.entries:
            for contender, samples in entry["samples"].items():
                if contender != "original":
                    out += [f"{entry['name']}: {CONTENDERS[contender]} ended with {s['status']}" for s in samples if s["status"] != "ok"]
            if identical(entry["samples"]) is False:
                out.append(f"{entry['name']}: not every output is the same")
        return list(dict.fromkeys(out))


def warm(files: list[Path]):
    for file in files:
        with file.open("rb") as bytes_of:
            while bytes_of.read(1 << 20):
                pass


if __name__ == "__main__":
    sys.exit(main("nine", parse_arguments, nine_markdown, Nine))
