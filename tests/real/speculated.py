# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The test suites of programs that read files, plain and as a whole under `pagecast speculate`, on a directory that is
slow to read. Copies are made whenever one can be, worth it or not. Every single test must end as it does without."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from archive import Archive, Unavailable, version_of
from job import Broken, Settings, is_installed, run_group
from slow_tree import Unavailable as NoSlowTree, slow_tree
from suites import Results, Suite

MODES = ("plain", "speculate")
FAST_ENOUGH = 0.5  # ms a request: the suites start thousands of processes


def differences(plain: Results, beside: Results) -> list[str]:
    """A line for each test that did not end the same way."""
    absent = "absent"
    return [f"{name}: {plain.get(name, absent)} plain, {beside.get(name, absent)} with copies"
            for name in sorted(plain.keys() | beside.keys()) if plain.get(name) != beside.get(name)]


class SuiteJob:
    def __init__(self, suite: Suite, settings: Settings, say: Callable[[str], None], milliseconds: float = FAST_ENOUGH):
        self._suite, self._settings, self._say, self._milliseconds = suite, settings, say, milliseconds
        self._home = settings.work / "speculate" / suite.name
        self._built, self._tree, self._logs = self._home / "built", self._home / "tree", self._home / "logs"

    def run(self, archive: Archive) -> dict:
        out = {"name": self._suite.name, "version": "", "state": "skipped", "why": "", "logs": str(self._logs)}
        try:
            missing = [p for p in self._suite.needs if not is_installed(p)]
            if missing:
                raise Unavailable(f"the build needs Debian's {', '.join(missing)}: apt-get install {' '.join(missing)}")
            if os.geteuid() != 0:
                raise Unavailable("slow storage is mounted: that needs root")
            self._say("fetching")
            description = archive.fetch(self._suite.name)
            out["version"] = version_of(description)
            out["state"] = "failed"
            self._build(archive, description)
            out |= self._compared()
            out["state"] = "failed" if out["why"] else "passed"
        except (Unavailable, Broken, NoSlowTree) as reason:
            out["why"] = str(reason)
        return out

    def _build(self, archive: Archive, description: Path):
        """At the place where the tests will find it: suites note the names of their directories."""
        stamp, wanted = self._home / "stamp", self._suite.build + description.read_text(errors="replace")
        if self._settings.fresh:
            shutil.rmtree(self._home, ignore_errors=True)
        if stamp.exists() and stamp.read_text() == wanted:
            return
        stamp.unlink(missing_ok=True)
        shutil.rmtree(self._built, ignore_errors=True)
        self._logs.mkdir(parents=True, exist_ok=True)
        archive.unpack(description, self._tree)
        self._say("building")
        ended = self._step("build", ["sh", "-ec", self._suite.build])
        if ended != "ok":
            raise Broken(f"the build ended with {ended}; see {self._logs / 'build.log'}")
        self._tree.rename(self._built)
        stamp.write_text(wanted)

    def _compared(self) -> dict:
        found, ends = {}, {}
        for mode in MODES:
            self._say(f"its tests, {mode}")
            found[mode], ends[mode] = self._tested(mode)
        if not found["plain"]:
            raise Broken(f"its tests ran nothing ({ends['plain']}); see {self._logs / 'plain.log'}")
        why = differences(found["plain"], found["speculate"])
        if ends["plain"] != ends["speculate"]:
            why.append(f"the suite ended with {ends['plain']} plain, {ends['speculate']} with copies")
        figures = self._figures()
        if not figures["copies"]["made"]:
            why.append("no copy was made")
        return {"tests": {mode: dict(Counter(found[mode].values())) for mode in MODES}, "copies": figures["copies"],
                "prefetch": figures["prefetch"], "stopped_ns": figures["original"]["stopped_ns"], "why": "; ".join(why)}

    def _tested(self, mode: str) -> tuple[Results, str]:
        speculate = [self._settings.build / "bin" / "pagecast", "speculate", "--eager", "--stats", self._home / "stats.json", "--"]
        (self._home / "stats.json").unlink(missing_ok=True)
        with slow_tree(self._settings.build, self._built, self._tree, self._milliseconds):
            ended = self._step(mode, [*(speculate if mode == "speculate" else []), "sh", "-c", self._suite.test])
        return self._suite.results((self._logs / f"{mode}.log").read_text(errors="replace")), ended

    def _figures(self) -> dict:
        try:
            return json.loads((self._home / "stats.json").read_text())
        except (OSError, ValueError) as reason:
            raise Broken(f"there are no statistics: {reason}") from reason

    def _step(self, name: str, command: list) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PAGECAST_", "CFLAGS", "MAKE", "TAR_", "GREP_"))}
        environment |= {"JOBS": str(self._settings.jobs), "LC_ALL": "C.UTF-8"}
        with (self._logs / f"{name}.log").open("wb") as log:
            return run_group(command, self._tree, environment, log, log, self._settings.timeout)
