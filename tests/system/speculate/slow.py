# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are not in memory: on a disk, or behind a slow storage that a process of the test serves."""

import contextlib
import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "slow_disk" / "slow_disk.cpp"


class Unavailable(Exception):
    """This machine cannot have it; the text is the reason."""


def compiled(build: Path) -> Path:
    """The server of slow storage."""
    made = build / "tests" / "slow_disk"
    if not made.exists() or made.stat().st_mtime < SOURCE.stat().st_mtime:
        fresh = made.with_suffix(f".{os.getpid()}")
        subprocess.run(["c++", "-std=c++20", "-O2", "-pthread", SOURCE, "-o", fresh], check=True)
        fresh.rename(made)
    return made


@contextlib.contextmanager
def slow_storage(build: Path, directory: Path, place: Path, servers: int = 4, milliseconds: float = 2,
                 asked: list[dict] | None = None, manner: str = "") -> Iterator[Path]:
    """The directory as it would be on so many servers, each of which answers one request at a time. `asked` gets what they
    were asked for. `manner`: "forgets" what was read of a file or directory when that is opened again, or "asks" a server at each open."""
    place.mkdir(exist_ok=True)
    with subprocess.Popen([compiled(build), directory, place, str(servers), str(milliseconds), *([manner] if manner else [])], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout.readline() != "ready\n":
                raise Unavailable(server.stderr.read().strip())
            yield place
        finally:
            server.terminate()
            said = server.communicate(timeout=30)[0]
            if asked is not None and said:
                asked.append(json.loads(said))


def write_tree(place: Path, directories: int, files: int, seed: int = 1) -> Path:
    """Small files of lines, some of which have "needle" in them."""
    chance = random.Random(seed)
    words = ["alpha", "beta", "gamma", "delta", "hay", "straw"]
    for d in range(directories):
        home = place / f"d{d}"
        home.mkdir(parents=True)
        for f in range(files):
            lines = [" ".join(chance.choices(words, k=8)) for _ in range(chance.randint(1, 400))]
            if chance.random() < 0.1:
                lines[chance.randrange(len(lines))] += " needle"
            (home / f"f{f}.txt").write_text("\n".join(lines) + "\n")
    return place


def forget(*files: Path):
    """Takes files out of the page cache."""
    for file in files:
        handle = os.open(file, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)
