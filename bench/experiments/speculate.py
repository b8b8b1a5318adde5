# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What hints by speculative execution are worth: the paper's three kinds of programs (text search, linking, slices), plain, under
pagecast speculate, and with readers ahead as the ceiling, on slow storage and on this machine's disk. In turns, cold. Prints a
table; the raw samples go to a JSON file, to which cells of later runs are added.

    python bench speculate                       the three kinds on four servers of 15 ms and on the disk: minutes
    python bench speculate --quick               the same with less data and servers of 2 ms
    python bench speculate --only tar slow-10x2  one cell: program and storage (disk, or slow-SERVERSxMILLISECONDS)
"""

import argparse
import contextlib
import hashlib
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "tests").is_dir())
sys.path.insert(0, str(ROOT / "tests" / "system" / "speculate"))
import slow  # noqa: E402

CONTENDERS = ("plain", "speculating", "ahead")
READERS = 32
SLICES = ("import os, random\nf = os.open('volume', os.O_RDONLY)\nr = random.Random(3)\nn = os.fstat(f).st_size // 2048\ns = 0\n"
          "for i in range({slices}):\n    at = r.randrange(n // 512)\n"
          "    for row in range({rows}):\n        s = s * 31 + os.pread(f, 2048, (row * {apart} + at) * 2048)[0] & 0xffffffff\nprint(s)\n")


class Program:
    """A program, the data that it reads, and what readers ahead would read for it."""

    def __init__(self, name: str, command: Callable[[argparse.Namespace], list[str]], data: Callable[[Path, argparse.Namespace], None],
                 ahead: Callable[[Path, argparse.Namespace], list] | None = None, status: int = 0):
        self.name, self.command, self.data, self.ahead, self.status = name, command, data, ahead or every_file, status


def every_file(place: Path, _) -> list:
    """Files as a walk finds them."""
    return sorted(p for p in place.rglob("*") if p.is_file())


def rows_of_slices(place: Path, options) -> list:
    chance, count = random.Random(3), (place / "volume").stat().st_size // 2048
    wanted = []
    for _ in range(options.slices):
        at = chance.randrange(count // 512)
        wanted += [(place / "volume", (row * options.apart + at) * 2048, 2048) for row in range(options.rows)]
    return wanted


def write_text(place: Path, options):
    slow.write_tree(place, options.files // 25, 25)


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
        for _ in range(options.volume >> 20):
            file.write(os.urandom(1 << 20))


def link(options) -> list[str]:
    return ["sh", "-c", f"ld -r -o {options.work}/linked *.o; cksum <{options.work}/linked"]


PROGRAMS = {p.name: p for p in (
    Program("search", lambda o: ["grep", "-rc", "nowhere", "."], write_text, status=1),
    Program("link", link, write_objects),
    Program("slices", lambda o: [sys.executable, "-c", SLICES.format(slices=o.slices, rows=o.rows, apart=o.apart)], write_volume, rows_of_slices),
    Program("tar", lambda o: ["sh", "-c", "tar cf - . | cat | cksum"], write_text),
    Program("find", lambda o: ["find", ".", "-size", "+2k"], write_text),
    Program("du", lambda o: ["du", "-s", "."], write_text),
    Program("sha256sum", lambda o: ["sh", "-c", "find . -type f | sort | xargs sha256sum"], write_text),
)}
KINDS = ("search", "link", "slices")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--quick", action="store_true", help="less data, servers of 2 ms")
    parser.add_argument("--only", nargs="+", metavar="CELL", help="names of programs and storages")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="of all data: 0.1 for a trial")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "speculate.json")
    parser.add_argument("--work", type=Path, help="directory for data, on a disk; default BUILD/speculate-data")
    options = parser.parse_args()
    options.build, options.work = options.build.resolve(), (options.work or options.build / "speculate-data").resolve()
    size = options.scale * (0.25 if options.quick else 1)
    options.files, options.objects = max(50, int(1350 * size)), max(10, int(562 * size))
    options.slices, options.rows, options.volume = 25, max(16, int(256 * size)), max(32 << 20, int(512 * size) << 20)
    # An odd number of stripes of 64 KiB: at a power of two, all rows of a slice would be on one server.
    options.apart = options.volume // 2048 // options.rows - 32
    return options


def wanted_cells(options) -> list[tuple[str, str]]:
    storages = ["slow-4x2" if options.quick else "slow-4x15", "disk"]
    if not options.only:
        return [(p, s) for s in storages for p in KINDS]
    programs = [c for c in options.only if c in PROGRAMS] or list(KINDS)
    return [(p, s) for s in [c for c in options.only if c not in PROGRAMS] or storages for p in programs]


def load_programs(options):
    """Programs themselves are in memory, for all contenders."""
    for word in (sys.executable, "sh", "grep", "ld", "tar", "find", "du", "sort", "xargs", "sha256sum", "cksum", "cat"):
        subprocess.run([options.build / "bin" / "pagecast", "speculate", "--stats", options.work / "stats.json", "--", word, "--version"],
                       capture_output=True, stdin=subprocess.DEVNULL)


@contextlib.contextmanager
def storage_of(name: str, data: Path, options) -> Iterator[Path]:
    """The data, not in memory."""
    if os.geteuid() == 0:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    load_programs(options)
    if name == "disk":
        slow.forget(*(p for p in data.rglob("*") if p.is_file()))
        yield data
        return
    servers, milliseconds = name.removeprefix("slow-").split("x")
    with slow.slow_storage(options.build, data, options.work / "mount", int(servers), float(milliseconds)) as place:
        yield place


def read_ahead(wanted: list, stop: threading.Event):
    """What the best of hints would do: so many readers, in the program's order."""
    turns, lock = iter(wanted), threading.Lock()

    def reader():
        while not stop.is_set():
            with lock:
                item = next(turns, None)
            if item is None:
                return
            path, offset, length = item if isinstance(item, tuple) else (item, 0, 1 << 20)
            with contextlib.suppress(OSError):
                file = os.open(path, os.O_RDONLY | os.O_NOATIME)
                os.pread(file, length, offset)
                os.close(file)

    threads = [threading.Thread(target=reader) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    return threads


def run_once(program: Program, storage: str, contender: str, data: Path, options) -> dict:
    command = [str(c) for c in program.command(options)]
    stats = options.work / "stats.json"
    if contender == "speculating":
        command = [str(options.build / "bin" / "pagecast"), "speculate", "--stats", str(stats), "--", *command]
    wanted = program.ahead(data, options) if contender == "ahead" else []
    with storage_of(storage, data, options) as place:
        wanted = [(place / w[0].relative_to(data), *w[1:]) if isinstance(w, tuple) else place / w.relative_to(data) for w in wanted]
        stop, begin = threading.Event(), time.monotonic()
        readers = read_ahead(wanted, stop)
        done = subprocess.run(command, cwd=place, capture_output=True, timeout=600)
        seconds = time.monotonic() - begin
        stop.set()
        for reader in readers:
            reader.join()
    if done.returncode != program.status:
        raise RuntimeError(f"{program.name} ended with {done.returncode}: {done.stderr.decode()[-400:]}")
    run = {"seconds": seconds, "output": hashlib.sha256(done.stdout).hexdigest()}
    if contender == "speculating":
        run["statistics"] = json.loads(stats.read_text())
    return run


def measure(program: Program, storage: str, data: Path, options) -> dict:
    runs = {contender: [] for contender in CONTENDERS}
    for _ in range(options.runs):
        for contender in CONTENDERS:
            runs[contender].append(run_once(program, storage, contender, data, options))
            print(f"{program.name} on {storage}: {contender} {runs[contender][-1]['seconds']:.2f} s", flush=True)
    outputs = {run["output"] for of in runs.values() for run in of}
    if len(outputs) != 1:
        raise RuntimeError(f"{program.name}: outputs differ")
    return {"program": program.name, "storage": storage, "runs": runs}


def table(cells: list[dict]) -> str:
    lines = ["| program | storage | plain | speculating | ahead | cut | of the ceiling's cut |", "|---|---|---|---|---|---|---|"]
    for cell in cells:
        plain, speculating, ahead = (median(run["seconds"] for run in cell["runs"][c]) for c in CONTENDERS)
        cut, most = 1 - speculating / plain, 1 - ahead / plain
        share = f"{cut / most:.0%}" if most > 0.05 else ""
        lines.append(f"| {cell['program']} | {cell['storage']} | {plain:.2f} s | {speculating:.2f} s | {ahead:.2f} s | {cut:.0%} | {share} |")
    return "\n".join(lines)


def provenance(options) -> dict:
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"commit": commit, "kernel": platform.release(), "processors": os.cpu_count(), "files": options.files,
            "objects": options.objects, "slices": options.slices, "rows": options.rows, "volume": options.volume}


def write_json(path: Path, cells: list[dict], options):
    """Cells of other programs and storages that are there already stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text())["cells"] if path.exists() else []
    fresh = {(c["program"], c["storage"]) for c in cells}
    kept = [c for c in old if (c["program"], c["storage"]) not in fresh]
    path.write_text(json.dumps({"machine": provenance(options), "cells": kept + cells}, indent=1) + "\n")


def main() -> int:
    options = parse_arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    cells = []
    try:
        for name, storage in wanted_cells(options):
            data = options.work / name
            if not data.exists():
                PROGRAMS[name].data(data, options)
                os.sync()
            cells.append(measure(PROGRAMS[name], storage, data, options))
    except slow.Unavailable as reason:
        print(f"speculate: {reason}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(options.work, ignore_errors=True)
        if cells:
            write_json(options.json, cells, options)
    print(table(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
