# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A contest: programs, each run by several contenders in turns, of which one may be Linux swap."""

from argparse import Namespace
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from harness import disk
from harness import runs
from harness.asked import Failed
from harness.experiment import phases, result
from harness.figures import ended, identical, values
from harness.limits import MemoryGroup, in_core_refusal, limit_refusal
from harness.report import Screen, write_json
from harness.swap import SwapFile, others_in_use, swap_for
from harness.turns import Part, make, missing, run_part

PATIENCE = 5  # times what a run may take over the best of its rivals
LEAST_PATIENCE = 2.0  # seconds: shorter runs vary


class Contest:
    """What an experiment says of itself are its name, prepare(), measure(), turn(), entries and failures(). An entry is what the
    JSON file has of a program."""

    NAME: str  # of the experiment
    ENTRIES: str  # what the result calls its entries

    def __init__(self, options: Namespace, screen: Screen, entries: list[dict]):
        self.options, self.screen, self.entries = options, screen, entries
        self.pagecast = options.build / "bin" / "pagecast"
        self.unavailable: dict[str, str] = {}  # contender: why
        self.disk_samples: list[dict] = []
        self.complete = False
        self.swap: SwapFile | None = None

    def turn(self, _: int) -> list[Part]:
        raise NotImplementedError

    def resume(self, earlier: dict):
        self.disk_samples, self.entries = earlier["disk_samples"], earlier[self.ENTRIES]

    def refuse_in_core(self, data_bytes: int):
        if reason := in_core_refusal(data_bytes):
            self.unavailable["incore"] = reason

    def measure_within(self, least_limit: int, data_bytes: int):
        """All turns, unless memory cannot be limited to so little. What was made for them in files called data-* goes."""
        if reason := limit_refusal(least_limit):
            self.unavailable = {c: reason for c in self.options.kinds}
            self.screen.say(f"not measured: {reason}")
            return
        parts = missing(self.options.runs, self.turn, self.measure_disk)
        try:
            with self.screen.steps(len(parts)):
                self.make(parts, data_bytes)
        finally:
            for file in self.options.work.glob("data-*"):
                file.unlink()
        self.complete = True

    def make(self, parts: list[Part], data_bytes: int):
        """The swap file lasts as long as all turns, but is on only while its contender runs."""
        wanted = parts and "swap" in self.options.kinds
        with swap_for(data_bytes, self.options.work, self.screen.say) if wanted else nullcontext() as self.swap:
            if self.swap and self.swap.why_not:
                self.unavailable["swap"] = self.swap.why_not
            make(parts, self.screen, self.save)

    def save(self):
        write_json(self.options.json, self.result())

    def measure_disk(self):
        self.disk_samples.append(vars(disk.measure(self.pagecast, self.options.work, 1)))

    def part(self, words: str, contender: str, samples: list[dict], sample: Callable[[], dict]) -> Part:
        """One run, where the contender is available."""
        return run_part(words, samples, sample, lambda: contender not in self.unavailable)

    def patience(self, of: dict | None, contender: str) -> float:
        """Seconds after which a run is stopped, by what others took whose samples are `of` the same. What is in core is no rival."""
        best = [min(times) for c, samples in (of["samples"] if of else {}).items()
                if c not in ("incore", contender) and (times := values(ended(samples), "wall_s"))]
        return min(self.options.timeout, max(PATIENCE * min(best), LEAST_PATIENCE)) if best else self.options.timeout

    def run_limited(self, command: list, limit: int, timeout: float, on_swap: bool) -> runs.Run:
        """Not by pagecast, and cold."""
        disk.forget()
        with self.swap.on() if on_swap else nullcontext(), MemoryGroup(limit, swap=on_swap) as group:
            return runs.run(command, group, timeout=timeout)

    def run_in_core(self, command: list, timeout: float) -> runs.Run:
        disk.forget()
        return runs.run(command, timeout=timeout)

    def result(self, **more) -> dict:
        return result(self.NAME, self.options, **more, contenders=self.options.kinds, unavailable=self.unavailable,
                      other_swap=others_in_use(), complete=self.complete, disk_samples=self.disk_samples, **{self.ENTRIES: self.entries})


def why_it_failed(done: runs.Run) -> str:
    """Of a sample's `errors`, the end of what it said."""
    return "" if done.ok else done.errors[-400:]


def failures_of(words: str, samples: list[dict]) -> list[str]:
    """Of a contender that must not fail. That it was given up is a result."""
    return [f"{words} ended with {s['status']}: {s['errors'].strip()}" for s in samples if s["status"] not in ("ok", "timeout")]


class PassContest(Contest):
    """Between programs that time their pass themselves. An entry has a name, words for people, and samples of each contender; the
    experiment says of itself who they are, too, and run()."""

    CONTENDERS: dict[str, str]  # in words
    OURS: tuple[str, ...]  # contenders that must not fail

    def __init__(self, options: Namespace, screen: Screen, entries: list[dict]):
        super().__init__(options, screen, [{**e, "samples": {c: [] for c in self.CONTENDERS}} for e in entries])

    def run(self, entry: dict, contender: str) -> runs.Run:
        raise NotImplementedError

    def turn(self, _: int) -> list[Part]:
        return [self.part(f"{entry['words']}: {self.CONTENDERS[contender]}", contender, entry["samples"][contender],
                          partial(self.sample, entry, contender)) for entry in self.entries for contender in self.options.kinds]

    def sample(self, entry: dict, contender: str) -> dict:
        done = self.run(entry, contender)
        times = phases(done.errors)
        if done.ok and "pass" not in times:
            raise Failed(f"{entry['name']}, {self.CONTENDERS[contender]}, printed no time of its pass: {done.errors.strip()[-300:]}")
        return {**done.sample(), "pass_s": times.get("pass"), "phases": times, "errors": why_it_failed(done)}

    def failures(self) -> list[str]:
        """What must not be. That a plain program was killed or given up is a result."""
        out = []
        for entry in self.entries:
            for contender in self.OURS:
                out += failures_of(f"{entry['words']}: {self.CONTENDERS[contender]}", entry["samples"][contender])
            if identical(entry["samples"]) is False:
                out.append(f"{entry['words']}: not every output is the same")
        return list(dict.fromkeys(out))
