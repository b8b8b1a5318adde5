# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that were not compiled with pagecast, in Python, R and Octave, over more data than memory: with memory for
all, on Linux swap, and under pagecast run, in turns, cold. Prints a Markdown table; the raw samples go to a JSON file."""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from harness import disk
from harness import runs
from harness.contenders import ROOT
from harness.experiment import exit_status, run_paged
from harness.limits import MemoryGroup
from harness.report import Screen, parse_size, provenance, write_json
from harness.swap import swap_for

CONTENDERS = ("in_core", "swap", "pagecast")
SCRIPTS = ROOT / "tests" / "people"
INTERPRETERS = {".R": "Rscript", ".m": "octave-cli"}  # of Debian's packages r-base-core and octave; .py is --python's


@dataclass(frozen=True)
class Script:
    name: str  # as in --programs
    file: str
    multiple: float  # of the limit: what it needs at the most
    target: float  # times faster than on swap
    module: str = ""  # of Python, that it needs

    def command(self, python: Path) -> list:
        return [INTERPRETERS.get(Path(self.file).suffix, python), SCRIPTS / self.file]

    def lacks(self, python: Path) -> str:
        """Why it cannot run here, or nothing."""
        interpreter = self.command(python)[0]
        if not shutil.which(interpreter):
            return f"{interpreter} is not installed"
        found = not self.module or subprocess.run([python, "-c", f"import {self.module}"], capture_output=True).returncode == 0
        return "" if found else f"{python} has no {self.module}"


PROGRAMS = (Script("numpy", "numpy_sweeps.py", 3, 3.0, "numpy"),
            Script("pandas", "pandas_tables.py", 2.4, 1.0, "pandas"),
            Script("scikit-learn", "sklearn_models.py", 3.4, 1.0, "sklearn"))
# Besides, with --programs people: as much as --multiple says.
PEOPLE = (*PROGRAMS,
          Script("scipy", "scipy_sparse.py", 3, 2.0, "scipy"),
          Script("polars", "polars_groups.py", 3, 2.0, "polars"),
          Script("pyarrow", "pyarrow_columns.py", 3, 2.0, "pyarrow"),
          Script("numba", "numba_stencil.py", 3, 2.0, "numba"),
          Script("lightgbm", "lightgbm_trees.py", 3, 2.0, "lightgbm"),
          Script("r", "r_tables.R", 3, 2.0),
          Script("octave", "octave_arrays.m", 3, 2.0))


def parse_arguments() -> argparse.Namespace:
    names = ",".join(p.name for p in PROGRAMS)
    every = ",".join(p.name for p in PEOPLE)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="an interpreter that has what the programs import")
    parser.add_argument("--programs", "--only", default=names, help=f"with commas between, or people: {every}; default {names}")
    parser.add_argument("--limit", default="512M", help="of the memory control group")
    parser.add_argument("--multiple", type=float, help="of the limit: what each program needs; default 2.4 to 3.4")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a run is given up")
    parser.add_argument("--quick", action="store_true", help="a look at the harness: 128M and twice as much data, once, given up after 30 s")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "unmodified.json")
    parser.add_argument("--work", type=Path, help="directory for swap and backing files; default BUILD/unmodified")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.work = (options.work or options.build / "unmodified").resolve()
    if options.quick:
        options.limit, options.multiple, options.runs, options.timeout = "128M", 2, 1, 30
    options.limit_bytes = parse_size(options.limit)
    known = {p.name: p for p in PEOPLE}
    chosen = (every if options.programs == "people" else options.programs).split(",")
    unknown = [n for n in chosen if n not in known]
    if unknown:
        parser.error(f"there is no program {unknown[0]}; there are {every}")
    options.skipped = {n: why for n in chosen if (why := known[n].lacks(options.python))}
    options.scripts = [known[n] for n in chosen if n not in options.skipped]
    return options


class Bench:
    def __init__(self, options: argparse.Namespace, screen: Screen):
        self.options, self.screen = options, screen
        self.samples = {script.name: {c: [] for c in CONTENDERS} for script in options.scripts}

    def bytes(self, script: Script) -> int:
        return int((self.options.multiple or script.multiple) * self.options.limit_bytes)

    def measure(self):
        self.options.work.mkdir(parents=True, exist_ok=True)
        with swap_for(max(map(self.bytes, self.options.scripts)), self.options.work, self.screen.say) as self.swap:
            with self.screen.steps(self.options.runs * len(CONTENDERS) * len(self.options.scripts)):
                for turn in range(self.options.runs):
                    for script in self.options.scripts:
                        for contender in CONTENDERS:
                            self.screen.step(f"{script.name}, {contender.replace('_', ' ')}, run {turn + 1} of {self.options.runs}")
                            self.samples[script.name][contender].append(self.run(script, contender))

    def run(self, script: Script, contender: str) -> runs.Run:
        command = [*script.command(self.options.python), str(self.bytes(script))]
        if contender == "pagecast":
            return run_paged(self.options.build / "bin" / "pagecast", self.options.work, self.options.limit_bytes, command, self.options.timeout)
        disk.forget()
        if contender == "in_core":
            done = runs.run(command, timeout=self.options.timeout)
            if not done.ok:
                raise RuntimeError(f"{script.name} ended with {done.status} in core: {done.errors.strip()[-400:]}")
            return done
        if self.swap.refusal:
            return runs.Run(0, 0, 0, f"not available: {self.swap.refusal}")
        with self.swap.on(), MemoryGroup(self.options.limit_bytes, swap=True) as group:
            return runs.run(command, group, timeout=self.options.timeout)

    def result(self) -> dict:
        return provenance(limit_bytes=self.options.limit_bytes, runs=self.options.runs,
                          programs=[self.entry(script) for script in self.options.scripts], skipped=self.options.skipped)

    def entry(self, script: Script) -> dict:
        samples = self.samples[script.name]
        medians = {c: median_of(samples[c]) for c in CONTENDERS}
        ended = [s for c in CONTENDERS for s in samples[c] if s.ok]
        swap = medians["swap"] or max((s.wall_s for s in samples["swap"] if s.status == "timeout"), default=None)
        return {"name": script.name, "bytes": self.bytes(script), "target": script.target,
                **{f"{c}_s": medians[c] for c in CONTENDERS},
                "swap_over_pagecast": swap / medians["pagecast"] if swap and medians["pagecast"] else None,
                "identical": len({s.output for s in ended}) == 1,
                "endings": {c: samples[c][-1].status for c in CONTENDERS},
                "samples": {c: [s.sample() for s in samples[c]] for c in CONTENDERS}}


def median_of(samples: list[runs.Run]) -> float | None:
    walls = [s.wall_s for s in samples if s.ok]
    return median(walls) if walls else None


def row(program: dict) -> str:
    def cell(contender: str) -> str:
        walls = [s["wall_s"] for s in program["samples"][contender] if s["status"] == "ok"]
        return f"{median(walls):.1f} ({min(walls):.1f}-{max(walls):.1f})" if walls else program["endings"][contender]

    ratio, at_least = program["swap_over_pagecast"], "≥ " if program["endings"]["swap"] == "timeout" else ""
    faults = (program["samples"]["pagecast"][-1]["stats"] or {}).get("faults", {})
    counts = [faults.get(k, 0) for k in ("prefetched_hit", "late", "not_prefetched")]
    return (f"| {program['name']} | {program['bytes'] >> 20} | {' | '.join(map(cell, CONTENDERS))} | {f'{at_least}{ratio:.2f}x' if ratio else '-'} "
            f"| {' / '.join(map(str, counts))} | {'yes' if program['identical'] else 'NO'} |")


def table(data: dict) -> str:
    return "\n".join((
        f"Not compiled with pagecast, under {data['limit_bytes'] >> 20} MiB; seconds, medians of {data['runs']} (spread)\n",
        "| program | MiB it needs | in core | on swap | pagecast run | swap / pagecast | pages: hit / late / not prefetched | identical |",
        "|---|---|---|---|---|---|---|---|",
        *map(row, data["programs"]),
        *(f"\n{name} was skipped: {why}." for name, why in data["skipped"].items())))


def measure() -> int:
    screen, options = Screen(sys.stderr), parse_arguments()
    if os.geteuid() != 0:
        raise RuntimeError("limiting memory with a control group and making a swap file need root")
    if not options.scripts:
        raise RuntimeError(f"none of the programs can run here: {'; '.join(options.skipped.values())}")
    bench = Bench(options, screen)
    bench.measure()
    data = bench.result()
    write_json(options.json, data)
    print(table(data))
    for program in data["programs"]:
        was_given_up = program["endings"]["swap"] == "timeout"
        if program["swap_over_pagecast"] is not None and not was_given_up and program["swap_over_pagecast"] < program["target"]:
            screen.say(f"{program['name']}: missed at least {program['target']:g} times faster than on swap "
                       f"(it is {program['swap_over_pagecast']:.2f})")
    return 0 if all(p["identical"] and p["endings"]["pagecast"] == "ok" for p in data["programs"]) else 1


if __name__ == "__main__":
    sys.exit(exit_status("unmodified", measure))
