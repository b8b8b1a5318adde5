# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of the experiment on speculation: how their data are made, their commands, and what readers ahead would read."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import slow

WORD = "nowhere"
TREE = "import os\nn = 0\nfor d, _, files in os.walk('.'):\n    for f in files:\n        n += len(open(os.path.join(d, f), 'rb').read())\nprint(n)\n"
SQLITE = ("import sqlite3\nc = sqlite3.connect('file:data?mode=ro&immutable=1', uri=True)\n"
          "print(c.execute('select sum(length(text)), max(value) from a').fetchone())\n"
          "print(c.execute('select sum(a.value) from b join a on a.id = b.id where b.number % 4 = 0').fetchone())\n")
MAKE_SQLITE = ("import random, sqlite3, sys\nr = random.Random(1)\nc = sqlite3.connect('data')\n"
               "c.execute('create table a(id integer primary key, value integer, text text)')\nc.execute('create table b(number integer, id integer)')\n"
               "n = int(sys.argv[1])\nc.executemany('insert into a values(?, ?, ?)', ((i, r.randrange(1000), 'x' * r.randrange(400)) for i in range(n)))\n"
               "c.executemany('insert into b values(?, ?)', ((i, r.randrange(n)) for i in range(n // 8)))\nc.commit()\n")


class Program:
    """`command` and `hinted` get the options; `data` makes what is read; `ahead` lists files or (file, offset, bytes)."""

    def __init__(self, name: str, command: Callable, data: Callable, ahead: Callable | None = None, hinted: Callable | None = None, status: int = 0,
                 kind: str | None = None):
        self.name, self.command, self.data, self.ahead, self.hinted, self.status = name, command, data, ahead or every_file, hinted, status
        self.kind = kind or name  # of data: programs of one kind share them


def every_file(place: Path, _) -> list:
    """Files as a walk finds them."""
    return sorted(p for p in place.rglob("*") if p.is_file())


def planes(options) -> list[tuple[str, int]]:
    """The slices that apps/files/slices.c draws: axis and place."""
    state, out = 3 * 2 + 1, []

    def draw() -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return state >> 33
    for _ in range(options.slices):
        axis = "y" if draw() % 2 else "z"
        out.append((axis, draw() % options.edge))
    return out


def parts_of_slices(place: Path, options) -> list:
    row, wanted = 4 * options.edge, []
    plane = row * options.edge
    for axis, at in planes(options):
        if axis == "z":
            wanted += [(place / "volume", at * plane + k, min(plane - k, 128 << 10)) for k in range(0, plane, 128 << 10)]
        else:
            wanted += [(place / "volume", z * plane + at * row, row) for z in range(options.edge)]
    return wanted


def write_text(place: Path, options):
    slow.write_tree(place, options.files // 25, 25)


def write_much_text(place: Path, options):
    slow.write_tree(place, options.many_files // 50, 50)


def write_objects(place: Path, options):
    """Objects with some functions each, which call each other's."""
    place.mkdir()
    source = place / "source.c"
    for i in range(options.objects):
        source.write_text("".join(f"int f{i}_{k}(int x) {{ extern int f{(i * 7 + k) % options.objects}_0(int); static const char t[900] = "
                                  f"\"{i}\"; return x < 0 ? t[-x] : f{(i * 7 + k) % options.objects}_0(x - 1); }}\n" for k in range(20)))
        subprocess.run(["cc", "-g", "-O0", "-c", source, "-o", place / f"o{i:04}.o"], check=True)
    source.unlink()


def write_volume(place: Path, options):
    place.mkdir()
    with open(place / "volume", "wb") as file:
        for _ in range(options.edge):
            file.write(os.urandom(4 * options.edge ** 2))


def write_repository(place: Path, options):
    write_text(place, options)
    git = ["git", "-C", place, "-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True)


def write_database(place: Path, options):
    place.mkdir()
    subprocess.run([sys.executable, "-c", MAKE_SQLITE, str(options.files * 100)], cwd=place, check=True)


def write_samples(place: Path, options):
    """Long lines of fields, as of aligned reads, in a few files."""
    place.mkdir()
    for i in range(8):
        with open(place / f"reads{i}.sam", "w") as file:
            for k in range(options.files * 20):
                file.write(f"read{k}\t{k % 16}\tchr{i}\t{k * 37}\t60\t100M\t*\t0\t0\t{'ACGT' * 25}\t{'I' * 100}\n")


def link(options) -> list[str]:
    return ["sh", "-c", f"ld -r -o {options.work}/linked *.o; cksum <{options.work}/linked"]


def app(name: str, arguments: Callable, hints: bool) -> Callable:
    return lambda o: [o.work / name, *(["--hints"] if hints else []), *arguments(o)]


def words(_) -> list[str]:
    return [WORD, "."]


def slices(options) -> list[str]:
    return ["volume", str(options.edge), str(options.slices), "3"]


PROGRAMS = {p.name: p for p in (
    Program("search", app("search", words, False), write_text, hinted=app("search", words, True), kind="text"),
    Program("grep", lambda o: ["grep", "-rc", WORD, "."], write_text, status=1, kind="text"),
    Program("link", link, write_objects),
    Program("slices", app("slices", slices, False), write_volume, parts_of_slices, hinted=app("slices", slices, True)),
    Program("grep-many", lambda o: ["grep", "-rc", WORD, "."], write_much_text, status=1, kind="much-text"),
    Program("tar-many", lambda o: ["sh", "-c", "tar cf - . | cat | cksum"], write_much_text, kind="much-text"),
    Program("find-many", lambda o: ["find", ".", "-size", "+2k"], write_much_text, kind="much-text"),
    Program("tar", lambda o: ["sh", "-c", "tar cf - . | cat | cksum"], write_text, kind="text"),
    Program("find", lambda o: ["find", ".", "-size", "+2k"], write_text, kind="text"),
    Program("du", lambda o: ["du", "-s", "."], write_text, kind="text"),
    Program("sha256sum", lambda o: ["sh", "-c", "find . -type f | sort | xargs sha256sum"], write_text, kind="text"),
    Program("python-tree", lambda o: [sys.executable, "-c", TREE], write_text, kind="text"),
    Program("git-grep", lambda o: ["git", "grep", "-c", "hay"], write_repository),
    Program("sqlite", lambda o: [sys.executable, "-c", SQLITE], write_database),
    Program("samples", lambda o: ["sh", "-c", "cat *.sam | awk '{ n += $4 } END { print n }'"], write_samples),
)}
KINDS = ("search", "link", "slices")
