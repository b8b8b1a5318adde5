# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that was not compiled with pagecast, numpy over arrays of three times the memory limit: on Linux swap and
under pagecast run, in turns, cold. Prints a Markdown table; the raw samples go to a JSON file."""

import argparse
import os
import sys
from pathlib import Path
from statistics import median

from harness import disk
from harness import runs
from harness.contenders import ROOT
from harness.experiment import exit_status, run_paged
from harness.limits import MemoryGroup
from harness.report import Screen, parse_size, provenance, write_json
from harness.swap import swap_for

CONTENDERS = ("swap", "pagecast")
TARGET = 3.0  # times faster than on swap
PROGRAM = Path(__file__).with_name("numpy_program.py")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--limit", default="256M", help="of the memory control group")
    parser.add_argument("--multiple", type=float, default=3, help="of the limit: the size of the arrays together")
    parser.add_argument("--sweeps", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=900, help="seconds after which a run is given up")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "unmodified.json")
    parser.add_argument("--work", type=Path, help="directory for swap and backing files; default BUILD/unmodified")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.work = (options.work or options.build / "unmodified").resolve()
    options.limit_bytes = parse_size(options.limit)
    options.data_bytes = int(options.multiple * options.limit_bytes)
    return options


class Bench:
    def __init__(self, options: argparse.Namespace, screen: Screen):
        self.options, self.screen = options, screen
        self.samples: dict[str, list[runs.Run]] = {c: [] for c in CONTENDERS}
        self.command = [sys.executable, PROGRAM, str(options.data_bytes), str(options.sweeps)]

    def measure(self):
        self.options.work.mkdir(parents=True, exist_ok=True)
        self.reference = runs.run(self.command, timeout=self.options.timeout)
        if not self.reference.ok:
            raise RuntimeError(f"the program ended with {self.reference.status} in core: {self.reference.errors.strip()[-400:]}")
        with swap_for(self.options.data_bytes, self.options.work, self.screen.say) as self.swap:
            with self.screen.steps(self.options.runs * len(CONTENDERS)):
                for turn in range(self.options.runs):
                    for contender in CONTENDERS:
                        self.screen.step(f"{contender}, run {turn + 1} of {self.options.runs}")
                        self.samples[contender].append(self.on_swap() if contender == "swap" else self.with_pagecast())

    def on_swap(self) -> runs.Run:
        if self.swap.refusal:
            return runs.Run(0, 0, 0, f"not available: {self.swap.refusal}")
        disk.forget()
        with self.swap.on(), MemoryGroup(self.options.limit_bytes, swap=True) as group:
            return runs.run(self.command, group, timeout=self.options.timeout)

    def with_pagecast(self) -> runs.Run:
        return run_paged(self.options.build / "bin" / "pagecast", self.options.work, self.options.limit_bytes, self.command, self.options.timeout)

    def result(self) -> dict:
        medians = {c: median_of(self.samples[c]) for c in CONTENDERS}
        ended = [s for c in CONTENDERS for s in self.samples[c] if s.ok]
        known = medians["swap"] and medians["pagecast"]
        return provenance(limit_bytes=self.options.limit_bytes, data_bytes=self.options.data_bytes, sweeps=self.options.sweeps,
                          runs=self.options.runs, in_core_s=self.reference.wall_s, **{f"{c}_s": medians[c] for c in CONTENDERS},
                          swap_over_pagecast=medians["swap"] / medians["pagecast"] if known else None,
                          identical=all(s.output == self.reference.output for s in ended),
                          endings={c: self.samples[c][-1].status for c in CONTENDERS},
                          samples={c: [s.sample() for s in self.samples[c]] for c in CONTENDERS})


def median_of(samples: list[runs.Run]) -> float | None:
    walls = [s.wall_s for s in samples if s.ok]
    return median(walls) if walls else None


def table(data: dict) -> str:
    def cell(contender: str) -> str:
        walls = [s["wall_s"] for s in data["samples"][contender] if s["status"] == "ok"]
        return f"{median(walls):.1f} ({min(walls):.1f}-{max(walls):.1f})" if walls else data["endings"][contender]

    ratio = data["swap_over_pagecast"]
    faults = (data["samples"]["pagecast"][-1]["stats"] or {}).get("faults", {})
    counts = [faults.get(k, 0) for k in ("prefetched_hit", "late", "not_prefetched")]
    return "\n".join((
        f"numpy, unmodified, {data['data_bytes'] >> 20} MiB of arrays under {data['limit_bytes'] >> 20} MiB; seconds, "
        f"medians of {data['runs']} (spread)\n",
        "| in core | on swap | pagecast run | swap / pagecast | pages: hit / late / not prefetched | identical |",
        "|---|---|---|---|---|---|",
        f"| {data['in_core_s']:.1f} | {cell('swap')} | {cell('pagecast')} | {f'{ratio:.2f}x' if ratio else '-'} "
        f"| {' / '.join(map(str, counts))} | {'yes' if data['identical'] else 'NO'} |"))


def measure() -> int:
    screen, options = Screen(sys.stderr), parse_arguments()
    if os.geteuid() != 0:
        raise RuntimeError("limiting memory with a control group and making a swap file need root")
    bench = Bench(options, screen)
    bench.measure()
    data = bench.result()
    write_json(options.json, data)
    print(table(data))
    if data["swap_over_pagecast"] is not None and data["swap_over_pagecast"] < TARGET:
        screen.say(f"missed at least {TARGET:g} times faster than on swap (it is {data['swap_over_pagecast']:.2f})")
    return 0 if data["identical"] and all(s.ok for s in bench.samples["pagecast"]) else 1


if __name__ == "__main__":
    sys.exit(exit_status("unmodified", measure))
