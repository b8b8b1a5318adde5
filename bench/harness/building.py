# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building a program twice, plain and with pagecast: how, how long it takes, how much machine code comes out."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness import runs
from harness.contenders import Program
from harness.kept_builds import Builds, of_ours

KINDS = ("plain", "pagecast")


@dataclass(frozen=True)
class Source:
    """A file, with more for the compiler's command line than a Program needs."""
    name: str
    source: Path
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Language:
    name: str
    compiler: str
    wrapper: str  # the same compiler with pagecast, in BUILD/bin
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


LANGUAGES = {
    ".c": Language("c", "clang-19", "pagecast-cc", ("-std=c11",), ("-lm",)),
    ".cpp": Language("c++", "clang++-19", "pagecast-c++", ("-std=c++20",)),
    ".f90": Language("fortran", "flang-new-19", "pagecast-fc"),
}


def language(program: Program | Source) -> Language:
    return LANGUAGES[program.source.suffix]


def command(program: Program | Source, kind: str, build: Path, out: Path) -> list[str]:
    """The same source at the same level; only the compiler's name differs."""
    how = language(program)
    compiler = how.compiler if kind == "plain" else str(build / "bin" / how.wrapper)
    return [compiler, *how.flags, "-O3", str(program.source), "-o", str(out), *how.libraries, *(program.more if isinstance(program, Source) else ())]


def compile_both(program: Program, build: Path, into: Path) -> dict[str, Path]:
    """The two executables. Raises RuntimeError with the compiler's own words."""
    into.mkdir(parents=True, exist_ok=True)
    out = {kind: into / f"{program.name}-{kind}" for kind in KINDS}
    for kind in KINDS:
        compile_once(program, kind, build, out[kind])
    return out


def compile_once(program: Program | Source, kind: str, build: Path, out: Path):
    """Makes the executable; in tests ($HARNESS_BUILDS) takes it from those that were made before."""
    kept = os.environ.get("HARNESS_BUILDS")
    if not kept or not all(file.exists() for file in (program.source, *of_ours(build))):
        compile_anew(program, kind, build, out)
        return
    compiler, *flags = command(program, kind, build, out)
    at = flags.index(str(program.source))
    flags[at:at + 3] = []  # with "-o" and its word
    made = _kept(Path(kept), build).compile(lambda *line: compile_line(program, line), compiler, program.source, *flags)
    shutil.copy(made, out)


@cache
def _kept(home: Path, build: Path) -> Builds:
    return Builds(home, of_ours(build))


def compile_anew(program: Program | Source, kind: str, build: Path, out: Path) -> runs.Run:
    return compile_line(program, command(program, kind, build, out))


def compile_line(program: Program | Source, line: Sequence) -> runs.Run:
    if not program.source.exists():
        raise RuntimeError(f"{program.source} is missing, so {program.name} cannot be built")
    try:
        done = runs.run(line)
    except FileNotFoundError as error:
        raise RuntimeError(f"{line[0]} is missing, so {program.name} cannot be built; run make build, "
                           "or install the compiler with make deps") from error
    if not done.ok:
        raise RuntimeError(f"{shlex.join(map(str, line))} ended with {done.status}: {done.errors.strip()[-1000:]}")
    return done


def compile_times(program: Program, build: Path, into: Path, times: int) -> dict[str, list[dict]]:
    """From source to executable, as a user calls the compiler, in turns; the first of each, which finds
    the compiler on disk, does not count."""
    samples: dict[str, list[dict]] = {kind: [] for kind in KINDS}
    for turn in range(times + 1):
        for kind in KINDS if turn % 2 == 0 else reversed(KINDS):
            done = compile_anew(program, kind, build, into / f"{program.name}-timed")
            if turn:
                samples[kind].append({"wall_s": done.wall_s, "cpu_s": done.cpu_s})
    (into / f"{program.name}-timed").unlink()
    return samples


def code_bytes(executable: Path) -> int:
    """Machine code: all sections that can be executed."""
    listing = subprocess.run(["readelf", "-SW", executable], check=True, capture_output=True, text=True).stdout
    total = 0
    for line in listing.splitlines():
        fields = line.replace("[ ", "[").split()  # [Nr] name type address offset size entry flags ...
        if len(fields) > 7 and fields[0].startswith("[") and "X" in fields[7]:
            total += int(fields[5], 16)
    return total
