# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What releases are worth: the nine programs with prefetching alone, with releases acted on at once, and with releases
buffered, under one memory limit, cold, in turns; how often MATVEC's vector is read; how much of the data a second sweep
over twice the memory reads.

The table, in Markdown, goes to standard output, progress to standard error, and all raw samples to a JSON file,
from which the table can be made again."""

import argparse
import sys
from functools import partial

from harness import disk
from harness.asked import chosen, parse
from harness.building import Source, compile_once
from harness.contenders import NINE, ROOT, Program, chosen_programs, prepare_keys_for
from harness.figures import identical
from harness.experiment import main, result, run_paged
from harness.limits import limit_refusal
from experiments.releases_table import POLICIES, releases_markdown
from harness.report import Screen, write_json
from harness.traffic import COLUMNS, INT
from harness.turns import Part, make, missing, run_part

SWEEP_MULTIPLE = 2  # of the limit: the data of the second sweep
EXAMPLES = f"""\
policies: {', '.join(f'{n} ({w})' for n, w in POLICIES.items())}
programs: {', '.join(p.name for p in NINE)}

examples:
  make releases                                                    everything (root; half an hour)
  make releases RELEASES_ARGS='--programs matvec --runs 1'         one program, and the second sweep
  make releases RELEASES_ARGS=--quick                              a limit of 64 MiB, once (some minutes)
  make releases RELEASES_ARGS='--table results/releases.json'      the table again, without measuring
  make releases RELEASES_ARGS='--continue results/releases.json'   the runs that it lacks, after an interruption

exit status: 0 measured; 1 an output differed or a run failed; 2 it could not be measured; 130 interrupted"""


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(p.name for p in NINE), metavar="A,B", help="NAME or NAME:MULTIPLE of the limit")
    parser.add_argument("--policies", default=",".join(POLICIES), metavar="A,B")
    parser.add_argument("--runs", type=int, default=3, help="of each; default 3")
    parser.add_argument("--limit", default="256M", help="of memory; default 256M")
    parser.add_argument("--quick", action="store_true", help="a look at all nine: a limit of 64M, once")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS", help="a run that takes longer is given up; default 1800")
    options = parse(parser, "releases", words, "keys", quick={"limit": "64M", "runs": 1})
    options.chosen = chosen_programs(options.programs)
    options.kinds = chosen(options.policies, POLICIES, "--policies")
    return options


class Releases:
    def __init__(self, options: argparse.Namespace, screen: Screen):
        self.options, self.screen = options, screen
        self.pagecast = options.build / "bin" / "pagecast"
        self.keys = options.work / "keys"
        self.unavailable: str | None = None
        self.complete = False
        self.disk_samples: list[dict] = []
        self.entries = [{"name": p.name, "multiple": p.multiple, "data_bytes": p.data_bytes(options.limit_bytes), "vector": self.vector(p),
                         "samples": {k: [] for k in POLICIES}} for p in options.chosen]
        self.sweeps = {"data_bytes": SWEEP_MULTIPLE * options.limit_bytes, "samples": {"one": [], "two": []}}

    def vector(self, program: Program) -> dict | None:
        """MATVEC's vector b: how many of its bytes a system would read that keeps nothing from one row to the next."""
        if program.name != "matvec":
            return None
        rows = program.data_bytes(self.options.limit_bytes) // INT // COLUMNS
        sweeps = int(program.options[program.options.index("--iterations") + 1])
        return {"site": "b", "bytes": rows * sweeps * COLUMNS * INT}

    def prepare(self):
        options = self.options
        options.work.mkdir(parents=True, exist_ok=True)
        self.screen.say(f"building {len(options.chosen)} programs")
        self.built = {p.name: options.work / f"{p.name}-pagecast" for p in options.chosen}
        for p in options.chosen:
            compile_once(Source(p.name, p.source, ("-g",)), "pagecast", options.build, self.built[p.name])  # sites have names
        self.sum = options.work / "sum-pagecast"
        compile_once(Source("sum", ROOT / "apps" / "field" / "sum.c"), "pagecast", options.build, self.sum)
        prepare_keys_for(options.chosen, options.limit_bytes, self.keys, self.screen.say)

    def resume(self, earlier: dict):
        self.disk_samples, self.entries, self.sweeps = earlier["disk_samples"], earlier["programs"], earlier["second_sweep"]

    def measure(self):
        options = self.options
        self.unavailable = limit_refusal(options.limit_bytes)
        if self.unavailable:
            return self.screen.say(f"not measured: {self.unavailable}")
        parts = missing(options.runs, self.turn, self.measure_disk)
        with self.screen.steps(len(parts)):
            make(parts, self.screen, lambda: write_json(options.json, self.result()))
        self.complete = True

    def measure_disk(self):
        self.disk_samples.append(vars(disk.measure(self.pagecast, self.options.work, 1)))

    def turn(self, turn: int) -> list[Part]:
        """Which policy comes first changes from turn to turn."""
        first = turn % len(self.options.kinds)
        kinds = self.options.kinds[first:] + self.options.kinds[:first]
        programs = [run_part(f"{p.name}: {POLICIES[k]}", e["samples"][k], partial(self.run, p, k))
                    for p, e in zip(self.options.chosen, self.entries) for k in kinds]
        return [*programs, Part("a second sweep", self.run_sweeps, lambda: len(self.sweeps["samples"]["two"]))]

    def run_sweeps(self):
        one, two = self.run_sum(1), self.run_sum(2)
        self.sweeps["samples"]["one"].append(one)
        self.sweeps["samples"]["two"].append(two)

    def run(self, program: Program, kind: str) -> dict:
        command = [self.built[program.name], *program.arguments(program.data_bytes(self.options.limit_bytes), self.keys)]
        return run_paged(self.pagecast, self.options.work, self.options.limit_bytes, command, self.options.timeout,
                         "--option", f"release={kind}").sample()

    def run_sum(self, sweeps: int) -> dict:
        command = [self.sum, "--memory-size", self.sweeps["data_bytes"], "--sweeps", sweeps]
        return run_paged(self.pagecast, self.options.work, self.options.limit_bytes, command, self.options.timeout).sample()

    def result(self) -> dict:
        return result("releases", self.options, policies=self.options.kinds, unavailable=self.unavailable, complete=self.complete,
                      disk_samples=self.disk_samples, programs=self.entries, second_sweep=self.sweeps)

    def failures(self) -> list[str]:
        out = [f"{e['name']}, {POLICIES[k]}: ended with {s['status']}" for e in self.entries for k in POLICIES for s in e["samples"][k]
               if s["status"] != "ok"]
        out += [f"a second sweep: ended with {s['status']}" for k in ("one", "two") for s in self.sweeps["samples"][k] if s["status"] != "ok"]
        out += [f"{e['name']}: not every output is the same" for e in self.entries if identical(e["samples"]) is False]
        return list(dict.fromkeys(out))


if __name__ == "__main__":
    sys.exit(main("releases", parse_arguments, releases_markdown, Releases))
