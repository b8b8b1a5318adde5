# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A contest: programs that time their pass themselves, each run by several contenders in turns, of which one may be Linux swap."""

from argparse import Namespace
from contextlib import nullcontext
from functools import partial

from harness import disk
from harness import runs
from harness.asked import Failed
from harness.experiment import phases, result
from harness.figures import identical
from harness.limits import MemoryGroup, limit_refusal
from harness.report import Screen, write_json
from harness.swap import SwapFile, others_in_use, swap_for
from harness.turns import Part, make, missing, run_part


class Contest:
    """What an experiment says of itself are the four constants, run() and prepare(). An entry is what the JSON file has of a
    program: its name, words for people, and samples of each contender."""

    NAME: str  # of the experiment
    ENTRIES: str  # what the result calls its entries
    CONTENDERS: dict[str, str]  # in words
    OURS: tuple[str, ...]  # contenders that must not fail

    def __init__(self, options: Namespace, screen: Screen, entries: list[dict]):
        self.options, self.screen = options, screen
        self.pagecast = options.build / "bin" / "pagecast"
        self.unavailable: dict[str, str] = {}  # contender: why
        self.disk_samples: list[dict] = []
        self.complete = False
        self.swap: SwapFile | None = None
        self.entries = {e["name"]: {**e, "samples": {c: [] for c in self.CONTENDERS}} for e in entries}

    def run(self, entry: dict, contender: str) -> runs.Run:
        raise NotImplementedError

    def resume(self, earlier: dict):
        self.disk_samples = earlier["disk_samples"]
        self.entries = {e["name"]: e for e in earlier[self.ENTRIES]}

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

    def turn(self, _: int) -> list[Part]:
        return [run_part(f"{entry['words']}: {self.CONTENDERS[contender]}", entry["samples"][contender],
                         partial(self.sample, entry, contender), lambda c=contender: c not in self.unavailable)
                for entry in self.entries.values() for contender in self.options.kinds]

    def sample(self, entry: dict, contender: str) -> dict:
        done = self.run(entry, contender)
        times = phases(done.errors)
        if done.ok and "pass" not in times:
            raise Failed(f"{entry['name']}, {self.CONTENDERS[contender]}, printed no time of its pass: {done.errors.strip()[-300:]}")
        return {**done.sample(), "pass_s": times.get("pass"), "phases": times, "errors": "" if done.ok else done.errors[-400:]}

    def run_limited(self, command: list, limit: int, timeout: float, on_swap: bool) -> runs.Run:
        """Not by pagecast, and cold."""
        disk.forget()
        with self.swap.on() if on_swap else nullcontext(), MemoryGroup(limit, swap=on_swap) as group:
            return runs.run(command, group, timeout=timeout)

    def result(self, **more) -> dict:
        return result(self.NAME, self.options, **more, contenders=self.options.kinds, unavailable=self.unavailable,
                      other_swap=others_in_use(), complete=self.complete, disk_samples=self.disk_samples,
                      **{self.ENTRIES: list(self.entries.values())})

    def failures(self) -> list[str]:
        """What must not be. That a plain program was killed or given up is a result."""
        out = []
        for entry in self.entries.values():
            for contender in self.OURS:
                bad = [s for s in entry["samples"][contender] if s["status"] not in ("ok", "timeout")]
                out += [f"{entry['words']}: {self.CONTENDERS[contender]} ended with {s['status']}: {s['errors'].strip()}" for s in bad]
            if identical(entry["samples"]) is False:
                out.append(f"{entry['words']}: not every output is the same")
        return list(dict.fromkeys(out))
