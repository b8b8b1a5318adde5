# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What releases are worth: the nine programs with prefetching alone, with releases acted on at once, and with releases
buffered, under one memory limit, cold, in turns; how often MATVEC's vector is read; how much of the data a second sweep
over twice the memory reads.

The table, in Markdown, goes to standard output, progress to standard error, and all raw samples to a JSON file,
from which the table can be made again."""

import argparse
import sys

import disk
from building import Source, compile_once
from contenders import NINE, ROOT, Program, chosen_programs, prepare_keys_for
from figures import given_up, identical
from harness import add_files, check_common, chosen, main, run_paged
from limits import limit_refusal
from releases_table import POLICIES, releases_markdown
from report import Screen, provenance, write_json
from traffic import COLUMNS, INT

SWEEP_MULTIPLE = 2  # of the limit: the data of the second sweep
EXAMPLES = f"""\
policies: {', '.join(f'{n} ({w})' for n, w in POLICIES.items())}
programs: {', '.join(p.name for p in NINE)}

examples:
  make releases                                                    everything (root; half an hour)
  make releases RELEASES_ARGS='--programs matvec --runs 1'         one program, and the second sweep
  make releases RELEASES_ARGS=--quick                              a limit of 64 MiB, once (some minutes)
  make releases RELEASES_ARGS='--table results/releases.json'      the table again, without measuring

exit status: 0 measured; 1 an output differed or a run failed; 2 it could not be measured; 130 interrupted"""


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(p.name for p in NINE), metavar="A,B", help="NAME or NAME:MULTIPLE of the limit")
    parser.add_argument("--policies", default=",".join(POLICIES), metavar="A,B")
    parser.add_argument("--runs", type=int, default=3, help="of each; default 3")
    parser.add_argument("--limit", default="256M", help="of memory; default 256M")
    parser.add_argument("--quick", action="store_true", help="a look at all nine: a limit of 64M, once")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS", help="a run that takes longer is given up; default 1800")
    add_files(parser, "releases", "keys")
    options = parser.parse_args(words)
    if options.quick:
        options.limit, options.runs = "64M", 1
    check_common(options, "releases")
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

    def measure(self):
        options = self.options
        self.unavailable = limit_refusal(options.limit_bytes)
        if self.unavailable:
            return self.screen.say(f"not measured: {self.unavailable}")
        with self.screen.steps(options.runs * (2 + len(self.entries) * len(options.kinds))):
            for turn in range(options.runs):
                self.turn(turn)
        self.complete = True

    def turn(self, turn: int):
        """Which policy comes first changes from turn to turn."""
        words = f"run {turn + 1} of {self.options.runs}"
        self.screen.step(f"measuring the disk, {words}")
        self.disk_samples.append(vars(disk.measure(self.pagecast, self.options.work, 1)))
        kinds = self.options.kinds[turn % len(self.options.kinds):] + self.options.kinds[:turn % len(self.options.kinds)]
        for program, entry in zip(self.options.chosen, self.entries):
            for kind in kinds:
                self.screen.step(f"{program.name}: {POLICIES[kind]}, {words}")
                if not given_up(entry["samples"][kind]):
                    entry["samples"][kind].append(self.run(program, kind))
        self.screen.step(f"a second sweep, {words}")
        for name, number in (("one", 1), ("two", 2)):
            self.sweeps["samples"][name].append(self.run_sum(number))
        write_json(self.options.json, self.result())

    def run(self, program: Program, kind: str) -> dict:
        command = [self.built[program.name], *program.arguments(program.data_bytes(self.options.limit_bytes), self.keys)]
        return run_paged(self.pagecast, self.options.work, self.options.limit_bytes, command, self.options.timeout,
                         "--option", f"release={kind}").sample()

    def run_sum(self, sweeps: int) -> dict:
        command = [self.sum, "--memory-size", self.sweeps["data_bytes"], "--sweeps", sweeps]
        return run_paged(self.pagecast, self.options.work, self.options.limit_bytes, command, self.options.timeout).sample()

    def result(self) -> dict:
        options = self.options
        return provenance(kind="releases", limit_bytes=options.limit_bytes, runs=options.runs, policies=options.kinds,
                          unavailable=self.unavailable, complete=self.complete, disk_samples=self.disk_samples, programs=self.entries,
                          second_sweep=self.sweeps)

    def failures(self) -> list[str]:
        out = [f"{e['name']}, {POLICIES[k]}: ended with {s['status']}" for e in self.entries for k in POLICIES for s in e["samples"][k]
               if s["status"] != "ok"]
        out += [f"a second sweep: ended with {s['status']}" for k in ("one", "two") for s in self.sweeps["samples"][k] if s["status"] != "ok"]
        out += [f"{e['name']}: not every output is the same" for e in self.entries if identical(e["samples"]) is False]
        return list(dict.fromkeys(out))


if __name__ == "__main__":
    sys.exit(main("releases", parse_arguments, releases_markdown, Releases))
