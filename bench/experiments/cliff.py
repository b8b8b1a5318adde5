# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cliff: programs that come to their hot data in no order, under limits from a little more than these to half of them: in
core, on swap and with pagecast, cold, in turns.

A run is stopped at five times the other's time, and counts as that. All outputs must be the same to the byte. The table, in
Markdown, goes to standard output, progress to standard error, all raw samples to a JSON file, and curves beside it, as SVG."""

import argparse
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness import disk
from harness import runs
from harness.asked import Failed, chosen, parse
from harness.building import KINDS, Source, compile_once
from harness.contenders import ROOT
from experiments.cliff_table import CONTENDERS, cliff_markdown
from harness.figures import ended, identical, values
from harness.experiment import main, result, run_paged
from harness.limits import MemoryGroup, in_core_refusal, limit_refusal
from harness.report import Screen, parse_size, write_json
from harness.swap import SwapFile, others_in_use, swap_for
from harness.turns import Part, make, missing, run_part

PATIENCE = 5  # times the other's time
LEAST_PATIENCE = 2.0  # seconds: shorter runs vary


@dataclass(frozen=True)
class Edge:
    words: str
    source: str  # under apps/
    data: float = 1  # times the hot data: all that it takes
    options: tuple[str, ...] = ()


PROGRAMS = {
    "buk": Edge("BUK, uniform keys", "buk/buk.c", 3, ("--keys", "random")),
    "cholesky": Edge("sparse Cholesky", "cliff/cholesky.c"),
    "hash": Edge("hash table", "cliff/hash.c"),
    "permute": Edge("permutation in place", "cliff/permute.c"),
    "tree": Edge("binary tree", "cliff/tree.c"),
    "transpose": Edge("transposition in place", "cliff/transpose.c"),
}
EXAMPLES = f"""\
programs: {', '.join(f'{n} ({p.words})' for n, p in PROGRAMS.items())}

examples:
  make cliff CLIFF_ARGS='--programs buk,hash'                  two programs (root; ten minutes)
  make cliff CLIFF_ARGS='--small'                              a look at the harness
  make cliff CLIFF_ARGS='--table results/cliff.json'           the table and the curves again, without measuring
  make cliff CLIFF_ARGS='--continue results/cliff.json'        the runs that it lacks, after an interruption

exit status: 0 measured; 1 an output differed or a run of ours failed; 2 it could not be measured; 130 interrupted"""


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(PROGRAMS), metavar="A,B")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), metavar="A,B")
    parser.add_argument("--factors", default="1.2,1.0,0.85,0.7,0.5", metavar="A,B", help="limits, in hot data")
    parser.add_argument("--hot", default="128M", help="bytes of hot data; default 128M")
    parser.add_argument("--runs", type=int, default=1, help="of each contender; default 1")
    parser.add_argument("--small", action="store_true", help="48M of hot data, to look at the harness")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS",
                        help="a run that takes longer is given up, and is not repeated; default 60")
    options = parse(parser, "cliff", words, "swap", "the table and the curves")
    options.chosen = chosen(options.programs, PROGRAMS, "--programs")
    options.kinds = chosen(options.contenders, CONTENDERS, "--contenders")
    options.hot_bytes = parse_size("48M" if options.small else options.hot)
    try:
        options.limits = [float(f) for f in options.factors.split(",")]
    except ValueError as error:
        raise Failed(f"--factors {options.factors}: numbers with commas between, such as 1.2,0.5") from error
    return options


class Cliff:
    def __init__(self, options: argparse.Namespace, screen: Screen):
        self.options, self.screen = options, screen
        self.pagecast = options.build / "bin" / "pagecast"
        self.unavailable: dict[str, str] = {}  # contender: why
        self.disk_samples: list[dict] = []
        self.complete = False
        self.swap: SwapFile | None = None
        self.entries = [self.new_entry(name) for name in options.chosen]

    def new_entry(self, name: str) -> dict:
        points = [{"factor": f, "limit_bytes": int(f * self.options.hot_bytes) & ~0xFFF,
                   "samples": {c: [] for c in CONTENDERS if c != "incore"}} for f in self.options.limits]
        return {"name": name, "words": PROGRAMS[name].words, "data_bytes": int(PROGRAMS[name].data * self.options.hot_bytes),
                "incore": [], "points": points}

    def prepare(self):
        self.options.work.mkdir(parents=True, exist_ok=True)
        self.screen.say(f"building {len(self.options.chosen)} programs, plain and with pagecast")
        for name in self.options.chosen:
            for kind in KINDS:
                compile_once(Source(name, ROOT / "apps" / PROGRAMS[name].source, ("-g",)), kind, self.options.build, self.executable(name, kind))

    def executable(self, name: str, kind: str) -> Path:
        return self.options.work / f"{name}-{kind}"

    def resume(self, earlier: dict):
        self.disk_samples, self.entries = earlier["disk_samples"], earlier["programs"]

    def measure(self):
        if reason := limit_refusal(min(p["limit_bytes"] for e in self.entries for p in e["points"])):
            self.unavailable = {c: reason for c in self.options.kinds}
            self.screen.say(f"not measured: {reason}")
            return
        data = max(e["data_bytes"] for e in self.entries)
        if reason := in_core_refusal(data):
            self.unavailable["incore"] = reason
        parts = missing(self.options.runs, self.turn, self.measure_disk)
        with self.screen.steps(len(parts)):
            wanted = parts and "swap" in self.options.kinds
            with swap_for(data, self.options.work, self.screen.say) if wanted else nullcontext() as self.swap:
                if self.swap and self.swap.why_not:
                    self.unavailable["swap"] = self.swap.why_not
                make(parts, self.screen, lambda: write_json(self.options.json, self.result()))
        self.complete = True

    def measure_disk(self):
        self.disk_samples.append(vars(disk.measure(self.pagecast, self.options.work, 1)))

    def turn(self, _: int) -> list[Part]:
        parts = []
        for entry in self.entries:
            if "incore" in self.options.kinds:
                parts.append(run_part(f"{entry['words']}: {CONTENDERS['incore']}", entry["incore"], partial(self.sample, entry, None, "incore"),
                                      lambda: "incore" not in self.unavailable))
            parts += [run_part(f"{entry['words']}, {p['factor']:g} times its hot data: {CONTENDERS[c]}", p["samples"][c],
                               partial(self.sample, entry, p, c), lambda c=c: c not in self.unavailable)
                      for p in entry["points"] for c in self.options.kinds if c != "incore"]
        return parts

    def patience(self, point: dict | None, contender: str) -> float:
        """Seconds after which a run is stopped."""
        others = [min(times) for c, samples in (point or {"samples": {}})["samples"].items()
                  if c != contender and (times := values(ended(samples), "wall_s"))]
        return min(self.options.timeout, max(PATIENCE * min(others), LEAST_PATIENCE)) if others else self.options.timeout

    def sample(self, entry: dict, point: dict | None, contender: str) -> dict:
        done = self.run(entry, point, contender, self.patience(point, contender))
        return {**done.sample(), "errors": "" if done.ok else done.errors[-400:]}

    def run(self, entry: dict, point: dict | None, contender: str, timeout: float) -> runs.Run:
        executable = self.executable(entry["name"], "pagecast" if contender == "pagecast" else "plain")
        command = [executable, "--memory-size", entry["data_bytes"], *PROGRAMS[entry["name"]].options]
        if contender == "pagecast":
            return run_paged(self.pagecast, self.options.work, point["limit_bytes"], command, timeout)
        disk.forget()
        if contender == "incore":
            return runs.run(command, timeout=timeout)
        with self.swap.on(), MemoryGroup(point["limit_bytes"], swap=True) as group:
            return runs.run(command, group, timeout=timeout)

    def result(self) -> dict:
        return result("cliff", self.options, contenders=self.options.kinds, hot_bytes=self.options.hot_bytes, unavailable=self.unavailable,
                      other_swap=others_in_use(), complete=self.complete, disk_samples=self.disk_samples, programs=self.entries)

    def failures(self) -> list[str]:
        """What must not be. That a run was given up, or a plain one was killed, is a result."""
        out = []
        for entry in self.entries:
            for point in entry["points"]:
                where = f"{entry['words']}, {point['factor']:g} times its hot data"
                out += [f"{where}: pagecast ended with {s['status']}: {s['errors'].strip()}" for s in point["samples"]["pagecast"]
                        if s["status"] not in ("ok", "timeout")]
                if identical({**point["samples"], "incore": entry["incore"]}) is False:
                    out.append(f"{where}: not every output is the same")
        return list(dict.fromkeys(out))


def draw(json_file: Path, screen: Screen):
    from experiments.cliff_plots import draw_all  # matplotlib takes a second to load
    for file in draw_all(json_file):
        screen.say(f"cliff: {file}")


if __name__ == "__main__":
    sys.exit(main("cliff", parse_arguments, cliff_markdown, Cliff, draw))
