# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every test there is (unit tests by ctest, lit, pytest), lists the skipped with their reasons and
counts all on the last line: "N passed, N failed, N skipped".

What bears company runs side by side: most tests wait for a disk half of their time. lit, which waits for nothing and counts no
turns, has what the others leave of the processors. Tests that are marked `few` follow, two at a time, and those that are marked
`alone`, one by one. With --check it is the fast tier instead: units, the pass, the house, and ten whole programs.

How many pages come in time depends on the turns that threads have, and so on the company. Hence a test that missed a bound ("assert
3 >= 4") is run once more, with nothing beside it; the summary names it. Results that differ, crashes, and waits without an end are
failures at once."""

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROCESSORS = len(os.sched_getaffinity(0))
NUMBER = r"-?[\d.]+(?:e[+-]?\d+)?"
BOUND = re.compile(rf"{NUMBER} [<>]=? {NUMBER}")
RESULT = re.compile(r" (?:==|!=|in|is|not) ")


@dataclass
class Tally:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    missed: dict[str, str] = field(default_factory=dict)  # tests of pytest that are to be run once more, and what they asserted
    again: list[str] = field(default_factory=list)  # those that passed then

    def read(self, suite: str, report: Path):
        """Adds the cases of a JUnit file."""
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            name = f"{suite}: {case.get('classname', '')}.{case.get('name', '')}"
            skip = case.find("skipped")
            if suite == AGAIN:
                self._read_again(case)
            elif missed := missed_bound(case):
                self.missed[node_of(case)] = missed
            elif case.find("failure") is not None or case.find("error") is not None:
                self.failed.append(name)
            elif skip is not None:
                self.skipped.append((name, reason_of(case, skip)))
            else:
                self.passed += 1

    def _read_again(self, case):
        node = node_of(case)
        if case.find("failure") is not None or case.find("error") is not None:
            self.failed.append(f"{node}, twice")
        else:
            self.passed += 1
            self.again.append(f"{node}: {self.missed[node]}")


FILLER = "lit"  # the suite that runs where the others wait
AGAIN = "again"  # the suite of those that missed a bound in company
MOST_AGAIN = 5  # more are no accident


def node_of(case) -> str:
    """What pytest calls a case of its report: "tests/system/cli/test_run.py::test_x[1]"."""
    return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}"


def missed_bound(case) -> str | None:
    """The assertion of a case that failed by a bound between numbers and nothing else: "assert (0 >= 1)"."""
    failure = case.find("failure")
    if failure is None:
        return None
    asserted = next((line for line in (failure.get("message") or "").splitlines() if "assert " in line), "")
    return asserted if BOUND.search(asserted) and not RESULT.search(asserted) else None


def reason_of(case, skip) -> str:
    """Why a case was skipped: pytest and lit say it, a unit test prints it."""
    said = (skip.get("message") or skip.text or "").strip()
    if said and not said.startswith("SKIP_REGULAR_EXPRESSION"):
        return said.splitlines()[0]
    output = (case.findtext("system-out") or "").splitlines()
    after = [line.strip() for line, before in zip(output[1:], output) if "Skipped" in before or "SKIP" in before]
    return next((line for line in after if line), said or "no reason given")


class Suite:
    """A command that is under way and writes a JUnit report. Its output is shown when it has ended, in one piece."""

    def __init__(self, name: str, command: list, report: Path):
        self.name, self.report = name, report
        fill_gaps = (lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))) if name == FILLER else None
        report.unlink(missing_ok=True)
        self._began, self._output = time.monotonic(), tempfile.TemporaryFile()
        # What a make above says of its jobs is not for the builds that are tested. Python keeps what it has compiled, beside the
        # build: collecting the tests, or starting a harness, takes a third of the time where it need not compile all modules.
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONDONTWRITEBYTECODE")}
        environment["PYTHONPYCACHEPREFIX"] = str(report.parents[1] / "pycache")
        self._process = subprocess.Popen([str(word) for word in command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                                         stdout=self._output, stderr=subprocess.STDOUT,
                                         preexec_fn=fill_gaps)

    def end(self, tally: Tally):
        # By itself, and not by subprocess, which does not tell how much of the processors it and its children took.
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = status = os.waitstatus_to_exitcode(status)
        print(f"== {self.name}, {time.monotonic() - self._began:.0f} s, processors {used.ru_utime + used.ru_stime:.0f} s", flush=True)
        self._output.seek(0)
        sys.stdout.buffer.write(self._output.read())
        sys.stdout.flush()
        failures = len(tally.failed) + len(tally.missed)
        if self.report.exists():
            tally.read(self.name, self.report)
        if status != 0 and len(tally.failed) + len(tally.missed) == failures:
            tally.failed.append(f"{self.name}: the runner ended with status {status}")

    def stop(self):
        self._process.send_signal(signal.SIGINT)  # which pytest unwinds at: mounts and control groups go
        self._process.wait()


def pytest(build: Path, *options, paths=(ROOT / "tests" / "system",)) -> list:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths, "--build", build, *options]


def marked(mark: str) -> list[Path]:
    """The files that have tests with the mark: collecting from all of them takes each process two seconds."""
    return [file for file in sorted((ROOT / "tests" / "system").glob("*/test_*.py")) if f"pytest.mark.{mark}" in file.read_text()]


def phases(build: Path, reports: Path, is_check: bool):
    """Lists of suites, each with its name, command and report; those of a list run side by side."""
    def suite(name, command, option):
        report = reports / f"{name}.xml"
        return name, [*command, option, report], report

    plugin = build / "lib" / "pagecast" / "pagecast-llvm19.so"
    # Beside the others for as long as they take, and not all at once before them.
    jobs = PROCESSORS if is_check else max(1, PROCESSORS // 2)
    unit = suite("unit", ["ctest", "--test-dir", build, "--output-on-failure", "-j", jobs, "--timeout", 300], "--output-junit")
    lit = suite("lit", [Path(sys.executable).parent / "lit", "-v", "-j", PROCESSORS, "--param", f"PLUGIN={plugin}",
                        "--param", f"OUT={build / 'lit'}", ROOT / "tests" / "lit"], "--xunit-xml-output")
    # Twice as many as processors, since they wait for the disk as well; three times as many took no less. Tests that switch swap on
    # have one process: what one has on swap, another would bring back when it switches its own off.
    side_by_side = ("-n", 2 * PROCESSORS, "--dist", "loadgroup")
    if is_check:
        yield [unit, lit, suite("check", pytest(build, "-m", "check", *side_by_side), "--junitxml")]
        return
    yield [unit, lit, suite("system", pytest(build, "-m", "not alone and not few", *side_by_side), "--junitxml")]
    yield [suite("few", pytest(build, "-m", "few and not alone", "-n", 2, "--dist", "loadgroup", paths=marked("few")), "--junitxml")]
    yield [suite("alone", pytest(build, "-m", "alone", paths=marked("alone")), "--junitxml")]


def run(phase: list, tally: Tally):
    print(f"== running side by side: {', '.join(name for name, _, _ in phase)}", flush=True)
    running = []
    try:
        running = [Suite(*suite) for suite in phase]
        while running:
            running[0].end(tally)
            running.pop(0)
    finally:
        for suite in running:
            suite.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--check", action="store_true", help="the fast tier")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    build = options.build.resolve()
    reports = build / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    for phase in phases(build, reports, options.check):
        run(phase, tally)
    if len(tally.missed) > MOST_AGAIN:
        tally.failed += [f"{node}: {asserted}" for node, asserted in tally.missed.items()]
    elif tally.missed:
        report = reports / f"{AGAIN}.xml"
        run([(AGAIN, [*pytest(build, paths=tally.missed), "--junitxml", report], report)], tally)
    print(f"== summary, on Linux {platform.release()}")
    for name, reason in tally.skipped:
        print(f"skipped  {name}: {reason}")
    for name in tally.again:
        print(f"again    {name}")
    for name in tally.failed:
        print(f"failed   {name}")
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped", flush=True)
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
