# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cliff: programs that come to their hot data in no order, under limits from a little more than these to half of them: in
core, on swap and with pagecast, cold, in turns.

A run is stopped at five times the other's time, and counts as that. All outputs must be the same to the byte. The table, in
Markdown, goes to standard output, progress to standard error, all raw samples to a JSON file, and curves beside it, as SVG."""

import argparse
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness import runs
from harness.asked import Failed, chosen, parse
from harness.building import KINDS, Source, compile_once
from harness.contenders import ROOT
from experiments.cliff_table import CONTENDERS, cliff_markdown
from harness.contest import Contest, failures_of, why_it_failed
from harness.figures import identical
from harness.experiment import main, run_paged
from harness.report import Screen, parse_size
from harness.turns import Part


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


class Cliff(Contest):
    NAME, ENTRIES = "cliff", "programs"

    def __init__(self, options: argparse.Namespace, screen: Screen):
        super().__init__(options, screen, [self.new_entry(name, options) for name in options.chosen])

    @staticmethod
    def new_entry(name: str, options: argparse.Namespace) -> dict:
        points = [{"factor": f, "limit_bytes": int(f * options.hot_bytes) & ~0xFFF,
                   "samples": {c: [] for c in CONTENDERS if c != "incore"}} for f in options.limits]
        return {"name": name, "words": PROGRAMS[name].words, "data_bytes": int(PROGRAMS[name].data * options.hot_bytes),
                "incore": [], "points": points}

    def prepare(self):
        self.options.work.mkdir(parents=True, exist_ok=True)
        self.screen.say(f"building {len(self.options.chosen)} programs, plain and with pagecast")
        for name in self.options.chosen:
            for kind in KINDS:
                compile_once(Source(name, ROOT / "apps" / PROGRAMS[name].source, ("-g",)), kind, self.options.build, self.executable(name, kind))

    def executable(self, name: str, kind: str) -> Path:
        return self.options.work / f"{name}-{kind}"

    def measure(self):
        data = max(e["data_bytes"] for e in self.entries)
        self.refuse_in_core(data)
        self.measure_within(min(p["limit_bytes"] for e in self.entries for p in e["points"]), data)

    def turn(self, _: int) -> list[Part]:
        parts = []
        for entry in self.entries:
            if "incore" in self.options.kinds:
                parts.append(self.part(f"{entry['words']}: {CONTENDERS['incore']}", "incore", entry["incore"],
                                       partial(self.sample, entry, None, "incore")))
            parts += [self.part(f"{where(entry, p)}: {CONTENDERS[c]}", c, p["samples"][c], partial(self.sample, entry, p, c))
                      for p in entry["points"] for c in self.options.kinds if c != "incore"]
        return parts

    def sample(self, entry: dict, point: dict | None, contender: str) -> dict:
        done = self.run(entry, point, contender, self.patience(point, contender))
        return {**done.sample(), "errors": why_it_failed(done)}

    def run(self, entry: dict, point: dict | None, contender: str, timeout: float) -> runs.Run:
        executable = self.executable(entry["name"], "pagecast" if contender == "pagecast" else "plain")
        command = [executable, "--memory-size", entry["data_bytes"], *PROGRAMS[entry["name"]].options]
        if contender == "pagecast":
            return run_paged(self.pagecast, self.options.work, point["limit_bytes"], command, timeout)
        if contender == "incore":
            return self.run_in_core(command, timeout)
        return self.run_limited(command, point["limit_bytes"], timeout, on_swap=True)

    def result(self) -> dict:
        return super().result(hot_bytes=self.options.hot_bytes)

    def failures(self) -> list[str]:
        """What must not be. That a run was given up, or a plain one was killed, is a result."""
        out = []
        for entry in self.entries:
            for point in entry["points"]:
                out += failures_of(f"{where(entry, point)}: pagecast", point["samples"]["pagecast"])
                if identical({**point["samples"], "incore": entry["incore"]}) is False:
                    out.append(f"{where(entry, point)}: not every output is the same")
        return list(dict.fromkeys(out))


def where(entry: dict, point: dict) -> str:
    return f"{entry['words']}, {point['factor']:g} times its hot data"


if __name__ == "__main__":
    sys.exit(main("cliff", parse_arguments, cliff_markdown, Cliff, plots="experiments.cliff_plots"))
