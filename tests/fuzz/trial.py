# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One program of the fuzzer: compiled plain and with pagecast, run both ways, compared."""

import ctypes
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from generate import program

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
WEIGHTS = (1, 4, 6, 6, 3)  # nothing is hinted at -O0
BUDGET = "16M"  # the least that the runtime takes
SECONDS = 60  # for a run; programs need a fraction of one, ten on a disk that others keep busy

# What each option of the runtime is set to, now and then. Options that are not about how to page are left alone.
DRAWN = {
    "RELEASE": ("none", "aggressive", "buffered"),
    "SCHEDULE": ("single", "nested", "continuous"),
    "DISTANCE": ("1", "3", "64", "100000"),
    "LARGE": ("64K", "4K", "1M"),
    "ROWS": ("0", "64K"),
    "GATE": ("0", "4K", "64K"),
    "IO": ("4K", "64K", "4M"),
    "HINTS": ("0",),
    "SLICES": ("0",),
    "SLICE_TRIALS": ("0",),
    "OVERWRITE": ("0", "2"),
    "COMPRESS": ("1",),
    "SECOND_CHANCE": ("0",),
    "ATTEND": ("0",),
    "HISTORY": ("0",),
    "BACKEND": ("pager",),
    "FAR": ("independent",),
}
LEFT_ALONE = {"ENABLE", "JOB", "MEMORY", "BACKING", "MAP", "PATIENCE", "PROFILE", "PROFILE_ENTRIES", "STATS", "VERBOSE"}


def runtime_options(build: Path) -> set[str]:
    """The names of the options in the runtime's table, without PAGECAST_."""
    text = ctypes.CDLL(str(build / "lib" / "libpagecast.so")).pagecast_options_help
    text.restype = ctypes.c_char_p
    return set(re.findall(r"^PAGECAST_(\w+)", text().decode(), re.MULTILINE))


@dataclass
class Settings:
    """How a program is compiled and run; drawn from its seed."""

    level: str
    options: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def draw_settings(seed: int, known: set[str], level: str | None = None) -> Settings:
    rng = random.Random(f"settings {seed}")
    options = {}
    if rng.random() < 0.25:  # anything, on top of what follows
        for name in rng.sample(sorted(DRAWN), rng.randint(1, 3)):
            options[name] = rng.choice(DRAWN[name])
    # Small arrays as regions and small nests as nests, half of the time: more to go wrong.
    for name in ("LARGE", "GATE"):
        if rng.random() < 0.5:
            options.setdefault(name, rng.choice(DRAWN[name]))
    flags = rng.choice(
        ((), (), (), ("-g",), ("-march=native", "-ffp-contract=off"), ("-fno-strict-aliasing",), ("-fwrapv", "-fPIC"))
    )
    drawn = rng.choices(LEVELS, WEIGHTS)[0]
    return Settings(level or drawn, {k: v for k, v in options.items() if k in known}, flags)


@dataclass
class Outcome:
    """What became of a trial. `failure` is empty, or a sentence of which the first word is its kind."""

    seed: int
    level: str
    options: dict[str, str]
    flags: tuple[str, ...] = ()
    failure: str = ""
    paged: bool = False
    figures: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict:
        return asdict(self)


@dataclass
class Run:
    status: int | None  # None: it took too long
    output: str
    errors: str

    def describe(self) -> str:
        if self.status is None:
            return f"took longer than {SECONDS} s"
        return f"died of {signal.Signals(-self.status).name}" if self.status < 0 else f"ended with status {self.status}"


def run(command: list, seconds: float, env: dict[str, str] | None = None) -> Run:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
    child = subprocess.Popen(
        [str(c) for c in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**clean, **(env or {})},
        start_new_session=True,
    )
    try:
        output, errors = child.communicate(timeout=seconds)
        return Run(child.returncode, output, errors)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, errors = child.communicate()
        return Run(None, output, errors)


class Trial:
    """Compiles and runs one source in a folder of its own."""

    def __init__(self, build: Path, folder: Path, settings: Settings):
        self.build, self.folder, self.settings = build, folder, settings
        self.source, self.stats = folder / "program.c", folder / "stats.json"
        folder.mkdir(parents=True, exist_ok=True)

    def compile_command(self, kind: str) -> list[str]:
        compiler = {"plain": "clang-19", "hinted": str(self.build / "bin" / "pagecast-cc"), "sanitized": "clang-19"}[kind]
        flags = [self.settings.level, *self.settings.flags, "-w"]
        if kind == "plain":  # what reduce.py takes out must not leave these behind: the sanitizers do not see them
            flags[-1:] = ["-Wno-everything", "-Werror=return-type", "-Werror=uninitialized"]
        if kind == "hinted":
            flags.append("-fno-crash-diagnostics")  # no files in the temporary directory
        if kind == "sanitized":
            flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        return [compiler, *flags, str(self.source), "-o", str(self.folder / kind)]

    def environment(self) -> dict[str, str]:
        drawn = {f"PAGECAST_{k}": v for k, v in self.settings.options.items()}
        return {"PAGECAST_MEMORY": BUDGET, "PAGECAST_STATS": str(self.stats), **drawn}

    def compare(self, source: str, arguments: tuple[str, ...] = (), tries: int = 1) -> tuple[str, Run | None, Run | None]:
        """The failure if there is one in so many tries, and both runs as far as it came."""
        self.source.write_text(source)
        for kind in ("plain", "hinted"):
            built = run(self.compile_command(kind), 60)
            if built.status != 0:
                blame = "generator: the plain compiler" if kind == "plain" else "compile: pagecast-cc"
                return f"{blame} {built.describe()}: {first_error(built.errors)}", None, built
        expected = run([self.folder / "plain", *arguments], SECONDS)
        if expected.status is None or expected.status < 0:
            return f"generator: the plain program {expected.describe()}", expected, None
        for _ in range(tries):
            self.stats.unlink(missing_ok=True)
            got = run([self.folder / "hinted", *arguments], SECONDS, self.environment())
            if failure := difference(expected, got):
                break
        return failure, expected, got

    def sanitize(self, source: str) -> str:
        """What the sanitizers have to say against the program itself."""
        self.source.write_text(source)
        built = run(self.compile_command("sanitized"), 120)
        if built.status != 0:
            return f"generator: the plain compiler {built.describe()}: {first_error(built.errors)}"
        checks = {"ASAN_OPTIONS": "detect_leaks=0:exitcode=99", "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1"}
        done = run([self.folder / "sanitized"], 2 * SECONDS, checks)
        if done.status in (None, 99) or done.status < 0:
            return f"generator: the sanitized program {done.describe()}: {first_error(done.errors)}"
        return ""

    def figures(self) -> tuple[bool, dict[str, int]]:
        """Whether anything was paged, and the counts that tell whether this has tested anything."""
        try:
            s = json.loads(self.stats.read_text())
        except (OSError, ValueError):
            return False, {}
        counts = {
            "nests": s["hints"]["nests_opened"],
            "hinted pages": s["hints"]["prefetched_pages"],
            "slice hints": s["hints"]["slice_hints"],
            "faults": s["faults"]["events"],
            "pages evicted": s["releases"]["evicted_clean"] + s["releases"]["evicted_dirty"],
        }
        return s["active"], counts

    def repeat_script(self) -> str:
        env = " ".join(f"{k}={shlex.quote(v)}" for k, v in self.environment().items())
        here = str(self.folder)
        lines = [
            "#!/bin/sh",
            "# Repeats the failure; an argument 1 to both programs shows all arrays after each unit.",
            'cd "$(dirname "$0")"',
        ]
        lines += [shlex.join(self.compile_command(kind)).replace(here, ".") for kind in ("plain", "hinted")]
        lines += [
            './plain "$@" >expected.again; echo "status $?" >>expected.again',
            f'{env.replace(here, ".")} timeout {SECONDS} ./hinted "$@" >got.again; echo "status $?" >>got.again',
            "diff expected.again got.again",
        ]
        return "\n".join(lines) + "\n"


def first_error(text: str) -> str:
    """The line that says most: an assertion, where the pass was when the compiler crashed, an error."""
    lines = text.splitlines()
    for mark in ("Assertion", r"^ *#\d+ .*pagecast::", "error:|ERROR:", "pagecast:"):
        for line in lines:
            if re.search(mark, line):
                return re.sub(r"0x[0-9a-f]+ |\(/.*", "", line).strip()[:300]
    return (lines or ["it said nothing"])[0][:300]


def difference(expected: Run, got: Run) -> str:
    if got.status is None:
        return f"timeout: it {got.describe()}"
    if got.status < 0:
        return f"crash: it {got.describe()}"
    if got.output != expected.output:
        pairs = zip(expected.output.splitlines(), got.output.splitlines())
        line = next((e for e, g in pairs if e != g), "the number of lines")
        return f"output: differs first at '{' '.join(line.split()[:2])}'"
    if got.status != expected.status:
        return f"status: {got.status} instead of {expected.status}"
    if "pagecast:" in got.errors:
        return f"message: it said '{first_error(got.errors)}'"
    return ""


def try_seed(build: Path, work: Path, keep: Path, seed: int, settings: Settings, sanitize: bool = False) -> Outcome:
    """Makes, compiles, runs and compares the program of a seed. What fails is kept."""
    folder = work / f"{seed}{settings.level}"
    trial = Trial(build, folder, settings)
    outcome = Outcome(seed, settings.level, settings.options, settings.flags)
    source = program(seed)
    try:
        if sanitize:
            outcome.failure = trial.sanitize(source)
        else:
            outcome.failure, expected, got = trial.compare(source)
            outcome.paged, outcome.figures = trial.figures()
            if outcome.failure.startswith("output"):
                _, expected, got = trial.compare(source, ("all",))
        if outcome.failure:
            keep_failure(trial, keep / str(seed), outcome, None if sanitize else (expected, got))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def keep_failure(trial: Trial, folder: Path, outcome: Outcome, runs):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(trial.source, folder / "program.c")
    for name, done in zip(("expected", "got"), runs or ()):
        if done:
            (folder / f"{name}.txt").write_text(f"{done.output}status {done.status}\n{done.errors}")
    (folder / "repeat.sh").write_text(trial.repeat_script())
    (folder / "outcome.json").write_text(json.dumps(outcome.as_json(), indent=1) + "\n")
