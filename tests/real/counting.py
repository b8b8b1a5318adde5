# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many tests passed, read from what a suite itself prints. A suite that prints nothing of the kind has run
nothing: that is an error, never a pass."""

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    passed: int
    total: int

    def __str__(self) -> str:
        return f"{self.passed}/{self.total}"


Counter = Callable[[str], Count]


def automake(log: str) -> Count:
    """`# TOTAL: 5` and `# PASS:  5` per directory; expected failures are passes. Skipped ones are not counted."""
    def all_of(name: str) -> int:
        return sum(int(n) for n in re.findall(rf"^# {name}: +(\d+)$", log, re.MULTILINE))
    return Count(all_of("PASS") + all_of("XFAIL"), all_of("TOTAL") - all_of("SKIP"))


def ctest(log: str) -> Count:
    """`92% tests passed, 1 tests failed out of 12`"""
    runs = re.findall(r"tests passed, (\d+) tests failed out of (\d+)", log)
    total = sum(int(all_) for _, all_ in runs)
    return Count(total - sum(int(failed) for failed, _ in runs), total)


def lines(passed: str, failed: str) -> Counter:
    """One line per test: these expressions tell the passed from the failed."""
    def count(log: str) -> Count:
        good, bad = (len(re.findall(pattern, log, re.MULTILINE)) for pattern in (passed, failed))
        return Count(good, good + bad)
    return count


def sums(passed: str, total: str) -> Counter:
    """Numbers that the suite prints itself, once or per part."""
    def count(log: str) -> Count:
        return Count(*(sum(int(n) for n in re.findall(pattern, log, re.MULTILINE)) for pattern in (passed, total)))
    return count
