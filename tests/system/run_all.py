# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every test there is (unit tests by ctest, lit, pytest), lists the skipped with their reasons and
counts all on the last line: "N passed, N failed, N skipped"."""

import argparse
import os
import platform
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Tally:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def read(self, suite: str, report: Path):
        """Adds the cases of a JUnit file."""
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            name = f"{suite}: {case.get('classname', '')}.{case.get('name', '')}"
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.append(name)
            elif skip is not None:
                self.skipped.append((name, reason_of(case, skip)))
            else:
                self.passed += 1


def reason_of(case, skip) -> str:
    """Why a case was skipped: pytest and lit say it, a unit test prints it."""
    said = (skip.get("message") or skip.text or "").strip()
    if said and not said.startswith("SKIP_REGULAR_EXPRESSION"):
        return said.splitlines()[0]
    output = (case.findtext("system-out") or "").splitlines()
    after = [line.strip() for line, before in zip(output[1:], output) if "Skipped" in before or "SKIP" in before]
    return next((line for line in after if line), said or "no reason given")


def suites(build: Path, reports: Path):
    """Name, command and report of each suite whose tests exist."""
    yield "unit", ["ctest", "--test-dir", build, "--output-on-failure", "-j", str(os.cpu_count() or 1), "--timeout", "300",
                   "--output-junit", reports / "unit.xml"], reports / "unit.xml"
    if any((ROOT / "tests" / "lit").glob("lit.*cfg*")):
        plugin = build / "lib" / "pagecast" / "pagecast-llvm19.so"
        yield "lit", [Path(sys.executable).parent / "lit", "-v", "--xunit-xml-output", reports / "lit.xml",
                      "--param", f"PLUGIN={plugin}", "--param", f"OUT={build / 'lit'}", ROOT / "tests" / "lit"], reports / "lit.xml"
    yield "system", [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests" / "system", "--build", build,
                     "--junitxml", reports / "system.xml"], reports / "system.xml"


def run_suite(name: str, command: list, report: Path, tally: Tally):
    print(f"== {name}", flush=True)
    report.unlink(missing_ok=True)
    done = subprocess.run([str(c) for c in command], cwd=ROOT)
    failures = len(tally.failed)
    if report.exists():
        tally.read(name, report)
    if done.returncode != 0 and len(tally.failed) == failures:
        tally.failed.append(f"{name}: the runner ended with status {done.returncode}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    build = parser.parse_args().build.resolve()
    reports = build / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    for name, command, report in suites(build, reports):
        run_suite(name, command, report, tally)
    print(f"== summary, on Linux {platform.release()}")
    for name, reason in tally.skipped:
        print(f"skipped  {name}: {reason}")
    for name in tally.failed:
        print(f"failed   {name}")
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped", flush=True)
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
