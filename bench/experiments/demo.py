# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main job: BUK and MATVEC on more data than memory, in core, on Linux swap, and with pagecast. BUK sorts keys of files, of
which some are frequent, and uniform ones, for which each place is as likely as any other.

Every run starts cold. The original and pagecast run in a memory control group with the same limit;
repetitions are interleaved, so that a busy moment of the machine hits all contenders alike."""

import argparse
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from harness import disk
from harness import runs
from harness.asked import Failed
from harness.building import code_bytes, compile_both
from harness.contenders import ROOT, Program, chosen_programs, prepare_keys_for
from harness.figures import fault_shares, quotient
from harness.experiment import exit_status, run_paged
from harness.limits import MemoryGroup
from harness.report import Screen, parse_size, provenance, write_json
from harness.swap import swap_for
from experiments.demo_table import demo_table, missed_targets

CONTENDERS = ("in_core", "original", "pagecast")
WORDS = {"in_core": "in core", "original": "original on swap", "pagecast": "pagecast"}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--limit", default="256M", help="of the memory control group")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a look at the harness: a limit of 64M, once")
    parser.add_argument("--programs", default="buk,matvec", help="NAME or NAME:MULTIPLE of the limit, with commas between")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "demo.json")
    parser.add_argument("--work", type=Path, help="directory for keys, swap and backing files; default BUILD/demo")
    parser.add_argument("--keys", default="both", choices=("both", "usr", "random"),
                        help="BUK's input: files under /usr, in which some keys are frequent, or uniform random numbers; default both")
    parser.add_argument("--budget", help="pagecast run --memory; default: it follows the control group by itself")
    parser.add_argument("--timeout", type=float, default=900, help="seconds after which a run is given up")
    options = parser.parse_args()
    if options.quick:
        options.limit, options.repetitions = "64M", 1
    options.build = options.build.resolve()
    options.work = (options.work or options.build / "demo").resolve()
    options.limit_bytes = parse_size(options.limit)
    return options


@dataclass(frozen=True)
class Job:
    """A program and the kind of keys that it is given, where it takes any."""
    program: Program
    keys: str | None = None  # usr or random

    @property
    def words(self) -> str:
        return f"{self.program.name}, uniform keys" if self.keys == "random" else self.program.name


def jobs_of(programs: list[Program], keys: str) -> list[Job]:
    """Skewed keys and uniform ones are two jobs: what is fast with one may be slow with the other."""
    kinds = ("usr", "random") if keys == "both" else (keys,)
    return [Job(p, k) for p in programs for k in (kinds if p.takes_keys else (None,))]


class Demo:
    def __init__(self, options: argparse.Namespace, screen: Screen):
        self.options, self.screen = options, screen
        self.jobs = jobs_of(chosen_programs(options.programs), options.keys)
        self.pagecast = options.build / "bin" / "pagecast"
        self.keys = options.work / "keys"
        self.samples = [{c: [] for c in CONTENDERS} for _ in self.jobs]
        self.rates: list[disk.Rates] = []

    def prepare(self):
        self.options.work.mkdir(parents=True, exist_ok=True)
        prepare_keys_for([j.program for j in self.jobs if j.keys == "usr"], self.options.limit_bytes, self.keys, self.screen.say)
        self.built = {p.name: compile_both(p, self.options.build, self.options.work) for p in dict.fromkeys(j.program for j in self.jobs)}

    def measure(self):
        most = max(j.program.data_bytes(self.options.limit_bytes) for j in self.jobs)
        with swap_for(most, self.options.work, self.screen.say) as self.swap:
            steps = self.options.repetitions * (len(self.jobs) * len(CONTENDERS) + 1)
            with self.screen.steps(steps):
                for repetition in range(self.options.repetitions):
                    self.measure_once(repetition)

    def measure_once(self, repetition: int):
        turn = f"run {repetition + 1} of {self.options.repetitions}"
        self.screen.step(f"measuring the disk, {turn}")
        self.rates.append(disk.measure(self.pagecast, self.options.work, 0.5 if self.options.quick else 2))
        for job, samples in zip(self.jobs, self.samples):
            for contender in CONTENDERS:
                self.screen.step(f"{job.words}, {WORDS[contender]}, {turn}")
                samples[contender].append(self.run(job, contender))

    def run(self, job: Job, contender: str) -> runs.Run:
        program = job.program
        arguments = program.arguments(program.data_bytes(self.options.limit_bytes), self.keys if job.keys == "usr" else "random")
        if contender == "pagecast":
            budget = ["--memory", self.options.budget] if self.options.budget else []
            return run_paged(self.pagecast, self.options.work, self.options.limit_bytes, [self.built[program.name]["pagecast"], *arguments],
                             self.options.timeout, *budget)
        disk.forget()
        command = [self.built[program.name]["plain"], *arguments]
        return runs.run(command, timeout=self.options.timeout) if contender == "in_core" else self.run_original(command)

    def run_original(self, command: list) -> runs.Run:
        if self.swap.refusal:
            return runs.Run(0, 0, 0, f"not available: {self.swap.refusal}")
        with self.swap.on(), MemoryGroup(self.options.limit_bytes, swap=True) as group:
            return runs.run(command, group, timeout=self.options.timeout)

    def result(self) -> dict:
        rates = disk.typical(self.rates)
        return provenance(limit_bytes=self.options.limit_bytes, repetitions=self.options.repetitions, keys=self.options.keys,
                          disk=asdict(rates), disk_samples=[asdict(r) for r in self.rates],
                          programs=[self.entry(j, s, rates) for j, s in zip(self.jobs, self.samples)])

    def entry(self, job: Job, samples: dict[str, list[runs.Run]], rates: disk.Rates) -> dict:
        program = job.program
        medians = {c: median_of(samples[c], "wall_s") for c in CONTENDERS}
        cpu = median_of(samples["in_core"], "cpu_s") or 0.0
        traffic = program.work(program.data_bytes(self.options.limit_bytes)).least(self.options.limit_bytes)
        limit = max(cpu, traffic.seconds(rates.read, rates.write))
        shares = fault_shares([s.sample() for s in samples["pagecast"]])
        plain, ours = (code_bytes(self.built[program.name][k]) for k in ("plain", "pagecast"))
        return {
            "name": job.words, "keys": job.keys, "multiple": program.multiple, "data_bytes": program.data_bytes(self.options.limit_bytes),
            "identical": identical(samples),
            **{f"{c}_s": medians[c] for c in CONTENDERS}, "in_core_cpu_s": cpu, "limit_s": limit,
            "limit_bytes_read": traffic.read, "limit_bytes_written": traffic.written,
            "original_over_pagecast": quotient(medians["original"], medians["pagecast"]),
            "pagecast_over_limit": quotient(medians["pagecast"], limit),
            "prefetched_hit_share": shares and shares["prefetched_hit"], "fault_shares": shares,
            "code_growth": ours / plain - 1, "code_bytes": {"plain": plain, "pagecast": ours},
            "endings": {c: samples[c][-1].status for c in CONTENDERS},
            "samples": {c: [s.sample() for s in samples[c]] for c in CONTENDERS},
        }

    def failures(self) -> list[str]:
        """What makes the figures void. That the original was killed or could not be had is a result."""
        out = []
        for job, samples in zip(self.jobs, self.samples):
            for contender in ("in_core", "pagecast"):
                for run in samples[contender]:
                    if not run.ok:
                        out.append(f"{job.words}, {WORDS[contender]}, ended with {run.status}: {run.errors.strip()[-400:]}")
            if not identical(samples):
                out.append(f"{job.words}: not every output is the same as in core")
        return list(dict.fromkeys(out))


def median_of(samples: list[runs.Run], field: str) -> float | None:
    values = [getattr(s, field) for s in samples if s.ok]
    return median(values) if values else None


def identical(samples: dict[str, list[runs.Run]]) -> bool:
    """To the byte, for every run that came to its end; at least one of pagecast's must have."""
    reference = samples["in_core"][0].output
    ended = [s for runs_of in samples.values() for s in runs_of if s.ok]
    return bool(reference) and any(s.ok for s in samples["pagecast"]) and all(s.output == reference for s in ended)


def require_root():
    if os.geteuid() != 0:
        raise Failed("the demo limits memory with a control group, makes a swap file and empties the page cache, all of "
                     "which need root; run it with sudo, or run make demo-incore, which does not")


def say_next(screen: Screen, options: argparse.Namespace):
    screen.say(f"\nThe raw samples are in {options.json}. To try next:\n"
               "  build/bin/pagecast cc -O2 your.c -o your && build/bin/pagecast run --memory 256M -- ./your\n"
               "  build/bin/pagecast doctor                          what this machine allows\n"
               "  make demo DEMO_ARGS='--programs buk:8 --limit 128M'  other sizes\n"
               "  make demo-incore                                   what it costs when the data fits in memory")


def measure() -> int:
    screen, options = Screen(), parse_arguments()
    require_root()
    demo = Demo(options, screen)
    demo.prepare()
    demo.measure()
    data = demo.result()
    write_json(options.json, data)
    screen.console.print(demo_table(data))
    screen.say(f"The limit is the larger of the CPU time in core and the bytes that must move at the disk's rate: "
               f"reads {data['disk']['read'] / 1e6:.0f} MB/s, writes {data['disk']['write'] / 1e6:.0f} MB/s in this run.")
    for entry in data["programs"]:
        for sentence in missed_targets(entry):
            screen.say(sentence)
    failures = demo.failures()
    for sentence in failures:
        print(f"demo: {sentence}", file=sys.stderr)
    say_next(screen, options)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(exit_status("demo", measure))
