# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One package's way: fetched, unpacked, built, tested without paging and with, and a larger run of one of its
programs. Each step has a log. What is built stays, and is built again only when the recipe or the compiler
changed."""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import evidence
from archive import Archive, Unavailable, version_of
from counting import Count
from recipes import Recipe

# One record beside each object, and no complaint where clang only links.
RECORDS = "--start-no-unused-arguments -fsave-optimization-record -foptimization-record-passes=pagecast --end-no-unused-arguments"
PROGRAMS_OF_OURS = ("bin/pagecast", "bin/pagecast-cc", "bin/pagecast-c++")


@dataclass(frozen=True)
class Settings:
    """What all packages have in common; sizes in bytes."""
    build: Path
    work: Path
    budget: int
    pressure: int
    jobs: int
    timeout: float
    fresh: bool = False
    keep: bool = False


class Broken(Exception):
    """A step of a package went wrong; the text is a sentence."""


class Job:
    def __init__(self, recipe: Recipe, settings: Settings, say: Callable[[str], None]):
        self._recipe, self._settings, self._say = recipe, settings, say
        self._home = settings.work / recipe.name
        self._tree = self._home / "tree"
        self._logs = self._home / "logs"
        self._statistics = self._home / "statistics"

    def run(self, archive: Archive) -> dict:
        """What became of the package, as the table and the JSON show it."""
        out = {"name": self._recipe.name, "version": "", "state": "skipped", "why": "", "logs": str(self._logs)}
        try:
            missing = [p for p in self._recipe.needs if not is_installed(p)]
            if missing:
                raise Unavailable(f"the build needs Debian's {', '.join(missing)}: apt-get install {' '.join(missing)}")
            self._say("fetching")
            description = archive.fetch(self._recipe.name)
            out["version"] = version_of(description)
            out["state"] = "failed"
            self._built(archive, description)
            out["remarks"] = evidence.remarks(self._tree)
            out |= self._tested()
            out["state"] = "failed" if out["why"] else "passed"
        except (Unavailable, Broken) as reason:
            out["why"] = str(reason)
        return out

    def _built(self, archive: Archive, description: Path):
        stamp = self._home / "built"
        wanted = identity(self._recipe, description, self._settings.build)
        if self._settings.fresh:
            shutil.rmtree(self._home, ignore_errors=True)
        if stamp.exists() and stamp.read_text() == wanted:
            self._say("built before")
            return
        stamp.unlink(missing_ok=True)
        self._logs.mkdir(parents=True, exist_ok=True)
        archive.unpack(description, self._tree)
        self._say("building")
        # Programs that a build runs to make its own sources need not be paged.
        ended = self._step("build", ["sh", "-ec", self._recipe.build], {"PAGECAST_ENABLE": "0"})
        if ended != "ok":
            raise Broken(f"the build ended with {ended}; see {self._logs / 'build.log'}")
        stamp.write_text(wanted)

    def _tested(self) -> dict:
        self._say("its tests, not paged")
        plain, plain_end = self._suite("plain", ["sh", "-ec", self._recipe.test], {"PAGECAST_ENABLE": "0"})
        if plain.total == 0:
            raise Broken(f"its tests ran nothing ({plain_end}); see {self._logs / 'plain.log'}")
        self._say(f"{plain} passed; its tests, paged")
        paged, paged_end = self._suite("paged", self._paged(self._recipe.test, "suite"), self._pressure())
        out = {"plain": vars(plain), "paged": vars(paged), "suite": self._sum("suite"), "why": ""}
        why = []
        if (plain, plain_end) != (paged, paged_end):
            why.append(f"its tests: {plain} ({plain_end}) without paging, {paged} ({paged_end}) with")
        elif plain.total - plain.passed != self._recipe.fails_with_clang:
            expected = plain.total - self._recipe.fails_with_clang
            why.append(f"its tests: {plain} passed, with paging and without; of plain clang's {expected} pass")
        elif plain_end != "ok" and not self._recipe.fails_with_clang:
            why.append(f"its tests ended with {plain_end}, though {plain} passed")
        if out["suite"]["paged"] == 0:
            why.append("no process of its tests was paged")
        if self._recipe.larger:
            self._say("a larger run, not paged and paged")
            wrong = self._larger()
            out |= {"larger": self._sum("larger"), "larger_identical": not wrong}
            why += wrong
            if not wrong and not out["larger"]["moved_bytes"]:
                why.append("the larger run moved no pages")
        return out | {"why": "; ".join(why)}

    def _suite(self, name: str, command: list, environment: dict) -> tuple[Count, str]:
        ended = self._step(name, command, environment)
        return self._recipe.count((self._logs / f"{name}.log").read_text(errors="replace")), ended

    def _larger(self) -> list[str]:
        """A program of the package on more data than the budget: its output must not depend on paging."""
        plain = self._step("larger-plain", ["sh", "-ec", self._recipe.larger], {"PAGECAST_ENABLE": "0"})
        paged = self._step("larger-paged", self._paged(self._recipe.larger, "larger"), {})
        if (plain, paged) != ("ok", "ok"):
            return [f"the larger run ended with {plain} without paging, with {paged} with it"]
        outputs = [(self._logs / f"larger-{mode}.log").read_bytes() for mode in ("plain", "paged")]
        if not outputs[0] or outputs[0] != outputs[1]:
            return [f"the larger run's output {'differs' if outputs[0] else 'is empty'}; see {self._logs / 'larger-paged.log'}"]
        return []

    def _paged(self, script: str, name: str) -> list:
        """The runtime's options reach every process through the environment; each has a budget of its own."""
        directory = self._statistics / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        backing = self._home / "backing"
        backing.mkdir(exist_ok=True)
        return [self._settings.build / "bin" / "pagecast", "run", "--memory", self._settings.budget, "--backing", backing,
                "--stats", directory / "%p.json", "--option", f"large={self._recipe.large}",
                "--option", f"gate={self._recipe.gate}", "--", "sh", "-ec", script]

    def _pressure(self) -> dict:
        if not self._settings.pressure:
            return {}
        return {"LD_PRELOAD": str(self._settings.work / "pressure.so"), "REAL_PRESSURE": str(self._settings.pressure)}

    def _sum(self, name: str) -> dict:
        directory = self._statistics / name
        total = evidence.statistics(directory)
        if not self._settings.keep:
            shutil.rmtree(directory, ignore_errors=True)
        return total

    def _step(self, name: str, command: list, more: dict) -> str:
        with (self._logs / f"{name}.log").open("wb") as out, (self._logs / f"{name}.err").open("wb") as err:
            # What a suite prints on standard error belongs to its report; a larger run's output must be its own.
            errors = err if name.startswith("larger") else subprocess.STDOUT
            return run_group(command, self._tree, self._environment() | more, out, errors, self._settings.timeout)

    def _environment(self) -> dict:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PAGECAST_", "CFLAGS", "CXXFLAGS", "MAKE"))}
        tools = self._settings.build / "bin"
        flags = f"{RECORDS} -fcrash-diagnostics-dir={self._logs}"
        return clean | {"CC": f"{tools / 'pagecast-cc'} {flags}", "CXX": f"{tools / 'pagecast-c++'} {flags}",
                        "JOBS": str(self._settings.jobs), "LC_ALL": "C.UTF-8", "CTEST_OUTPUT_ON_FAILURE": "1"}


def run_group(command: list, directory: Path, environment: dict, out, err, timeout: float) -> str:
    """Runs a command in a process group of its own, which ends with it, whatever happens to us. How it ended."""
    process = subprocess.Popen([str(c) for c in command], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                               stdout=out, stderr=err, start_new_session=True)
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        return f"a time-out of {timeout:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return "ok" if status == 0 else f"signal {-status}" if status < 0 else f"exit status {status}"


def is_installed(package: str) -> bool:
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True)
    return done.stdout == "installed"


def identity(recipe: Recipe, description: Path, build: Path) -> str:
    """Of everything that a build depends on: a stale one would test yesterday's compiler."""
    digest = hashlib.sha256(recipe.build.encode() + RECORDS.encode() + description.read_bytes())
    for file in sorted((build / "lib" / "pagecast").glob("*.so")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def make_pressure(settings: Settings):
    """Compiles what the suites' processes are preloaded with."""
    settings.work.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-O1", "-fPIC", "-shared", "-pthread", Path(__file__).with_name("pressure.c"), "-o", settings.work / "pressure.so"]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise Broken(f"tests/real/pressure.c does not compile: {done.stderr.strip()}")
