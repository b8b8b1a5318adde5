# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns: every contender is run once, then every one again, so that a busy moment of the machine hits all alike. What is
measured is saved after every part, and a run that is continued makes only the parts that are missing."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from harness import interruption
from harness.figures import given_up
from harness.report import Screen


@dataclass(frozen=True)
class Part:
    """Of a turn: a run, or several that count only together."""
    words: str
    make: Callable[[], None]  # adds its samples when it has all
    made: Callable[[], int] = lambda: 0  # in how many turns it was made so far


def run_part(words: str, samples: list[dict], run: Callable[[], dict], is_available: Callable[[], bool] = lambda: True) -> Part:
    """One run, which is not repeated once it has been given up."""
    def make():
        if is_available() and not given_up(samples):
            samples.append(run())
    return Part(words, make, lambda: sys.maxsize if given_up(samples) else len(samples))


def missing(turns: int, parts: Callable[[int], list[Part]], measure_disk: Callable[[], None] | None = None) -> list[Part]:
    """What is to be made, in order; the disk is measured before each turn that lacks something."""
    out = []
    for turn in range(turns):
        of_turn = f"run {turn + 1} of {turns}"
        lacking = [replace(p, words=f"{p.words}, {of_turn}") for p in parts(turn) if p.made() <= turn]
        if lacking and measure_disk:
            out.append(Part(f"measuring the disk, {of_turn}", measure_disk))
        out += lacking
    return out


def make(parts: list[Part], screen: Screen, save: Callable[[], None]):
    for part in parts:
        interruption.check()
        screen.step(part.words)
        part.make()
        save()
