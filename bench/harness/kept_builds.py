# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In tests, programs are compiled once: an executable is kept under the hash of all that it is made of, for every test of this run
and of the next, whichever process comes first. Beside it stands what it printed, for tests that compare with it."""

import fcntl
import hashlib
import re
import shutil
import time
from pathlib import Path

KEPT_S = 3 * 24 * 3600  # what no test has used for so long goes
COMPILERS = ("clang-19", "flang-new-19")
INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def inputs(source: Path, directories: list[Path]) -> list[Path]:
    """The file and those that it includes by names that are found beside it or in the directories."""
    found, waiting = [], [source]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.append(file)
        for name in INCLUDE.findall(file.read_bytes()):
            places = (place / name.decode() for place in (file.parent, *directories))
            waiting += [place for place in places if place.is_file()][:1]
    return found


def hash_of(*parts) -> str:
    """Each part counts with its length, so that no two lists are alike."""
    key = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        key.update(b"%d:" % len(data) + data)
    return key.hexdigest()[:24]


def of_ours(build: Path) -> list[Path]:
    """The files of a build tree that make a difference to what our compilers make."""
    return [build / "lib" / "pagecast" / "pagecast", build / "lib" / "pagecast" / "pagecast-llvm19.so", build / "lib" / "libpagecast.so"]


class Builds:
    """The executables under `home`. `ours` are the files that our compilers consist of."""

    def __init__(self, home: Path, ours: list[Path]):
        installed = [Path(at).resolve().stat() for name in COMPILERS if (at := shutil.which(name))]
        self._home = home
        self._tools = hash_of(*(file.read_bytes() for file in ours), *((s.st_mtime_ns, s.st_size) for s in installed))
        home.mkdir(parents=True, exist_ok=True)
        for place in home.iterdir():
            if place.stat().st_mtime < time.time() - KEPT_S:
                shutil.rmtree(place, ignore_errors=True)

    def compile(self, run, compiler, source: Path, *flags) -> Path:
        """The executable, which has the name of its source. `run` runs the compiler if it must, and raises what goes wrong. The flags
        follow the source."""
        flags = [str(flag) for flag in flags]
        directories = [Path(flag) for before, flag in zip(flags, flags[1:]) if before == "-I"]
        contents = [part for file in inputs(source, directories) for part in (file.name, file.read_bytes())]
        place = self._home / hash_of(self._tools, Path(compiler).name, len(flags), *flags, *contents)
        target = place / source.stem
        place.mkdir(exist_ok=True)
        with (place / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                run(compiler, source, "-o", place / "made", *flags)
                (place / "made").rename(target)
        return target

    def output(self, run, program: Path, *arguments) -> str:
        """What an executable of `compile` prints, which is always the same. `run` runs it if nobody has, and raises what goes wrong."""
        place, arguments = program.parent, [str(argument) for argument in arguments]
        kept = place / f"output-{hash_of(*arguments)}"
        with (place / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                (place / "printed").write_text(run(program, *arguments).stdout)
                (place / "printed").rename(kept)
        return kept.read_text()
