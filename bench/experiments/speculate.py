# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What hints by speculative execution are worth: the paper's three kinds of programs (text search, linking, slices), plain, under
pagecast speculate, hinted by hand where a variant exists, and with readers ahead as the ceiling. In turns, cold. Prints tables;
the raw samples go to a JSON file, to which cells of later runs are added, and figures are drawn beside it.

    python bench speculate                       the three kinds on four servers of 15 ms and on the disk: minutes
    python bench speculate --quick               the same with less data and servers of 2 ms
    python bench speculate --only tar slow-10x2  one cell: program and storage
    python bench speculate --runs 1 --add ...    one more run of each, beside those that are in the JSON
    python bench speculate --draw                tables and figures of the JSON that is there

Storage: disk, cached (all is in memory), slow-SERVERSxMILLISECONDS, gluster-MILLISECONDS (four bricks), and each but cached with a
cache of so many megabytes: slow-4x15-12M.
"""

import argparse
import contextlib
import copy
import ctypes
import hashlib
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "tests").is_dir())
sys.path.insert(0, str(ROOT / "tests" / "system" / "speculate"))
import slow  # noqa: E402
from programs import compiled_app  # noqa: E402

from experiments.slow_storage.programs import KINDS, PROGRAMS, Program  # noqa: E402
from experiments.slow_storage.storage import limited, storage_of, without_cache  # noqa: E402
from experiments.slow_storage.table import speculate_markdown  # noqa: E402

READERS = 32
CACHED_RUNS = 15
CONTENDERS = ("plain", "speculating", "hinted", "ahead", "accounted", "again")
CACHED_SLICES = 400  # times as many as on storage: so short a run would be all start
SET_CHILD_SUBREAPER = 36


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--quick", action="store_true", help="less data, servers of 2 ms")
    parser.add_argument("--only", nargs="+", metavar="CELL", help="names of programs and storages")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--add", action="store_true", help="keep the runs of the same cells that are in the JSON: for pieces of some minutes")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS, help="no others: for pieces of some minutes, too")
    parser.add_argument("--slices", type=int, default=5, help="how many are drawn: of the paper's 25, as many as leave ten minutes for all")
    parser.add_argument("--scale", type=float, default=1, help="of all data: 0.1 for a trial")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "speculate.json")
    parser.add_argument("--work", type=Path, help="directory for data, on a disk; default BUILD/speculate-data")
    parser.add_argument("--keep", action="store_true", help="leave the data for the next run")
    parser.add_argument("--draw", action="store_true", help="measure nothing: tables and figures of the JSON")
    options = parser.parse_args()
    options.build, options.work = options.build.resolve(), (options.work or options.build / "speculate-data").resolve()
    size = options.scale * (0.25 if options.quick else 1)
    options.files, options.many_files, options.objects = max(50, int(1350 * size)), max(100, int(20000 * size)), max(10, int(562 * size))
    # At an edge of 512, a plane is a multiple of four stripes of 64 KiB, and all rows of a slice would be on one server.
    options.edge = max(64, int(512 * size ** (1 / 3)) // 16 * 16 - 16)
    return options


def wanted_cells(options) -> list[tuple[str, str]]:
    storages = ["slow-4x2" if options.quick else "slow-4x15", "disk"]
    if not options.only:
        return [(p, s) for s in storages for p in KINDS]
    programs = [c for c in options.only if c in PROGRAMS] or list(KINDS)
    return [(p, s) for s in [c for c in options.only if c not in PROGRAMS] or storages for p in programs]


def read_ahead(wanted: list, stop: threading.Event) -> list[threading.Thread]:
    """What the best of hints would do: so many readers, in the program's order."""
    turns, lock = iter(wanted), threading.Lock()

    def reader():
        while not stop.is_set():
            with lock:
                item = next(turns, None)
            if item is None:
                return
            path, offset, length = item if isinstance(item, tuple) else (item, 0, 1 << 20)
            try:
                file = os.open(path, os.O_RDONLY | os.O_NOATIME)
            except OSError:
                continue
            os.pread(file, length, offset)
            os.close(file)

    threads = [threading.Thread(target=reader) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    return threads


def used() -> tuple[float, int]:
    """Processor time, and page faults, of children that have been waited for, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime, usage.ru_minflt + usage.ru_majflt


def adopt_controllers():
    """A controller that its program leaves behind becomes a child of this process: its time is counted when it is waited for."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_controllers():
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def run_once(program: Program, storage: str, contender: str, data: Path, options) -> dict:
    command = [str(c) for c in (program.hinted if contender == "hinted" else program.command)(options)]
    stats = options.work / "stats.json"
    if contender in ("speculating", "accounted"):
        kept = [] if storage == "cached" else ["--stats", str(stats)]  # to write statistics takes longer than to make none
        traced = ["--account"] if contender == "accounted" else []
        command = [str(options.build / "bin" / "pagecast"), "speculate", *traced, *kept, "--", *command]
    asked: list[dict] = []
    wanted = program.ahead(data, options) if contender == "ahead" else []
    with storage_of(storage, data, options, asked) as place, limited(storage) as group:
        wanted = [(place / w[0].relative_to(data), *w[1:]) if isinstance(w, tuple) else place / w.relative_to(data) for w in wanted]
        stop, before, begin = threading.Event(), used(), time.monotonic()
        readers = read_ahead(wanted, stop)
        # A pipe would be waited for until the controller, too, has closed its end, which no shell does.
        with open(options.work / "errors", "w+b") as errors:
            done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, stderr=errors, timeout=600, preexec_fn=group)
            seconds = time.monotonic() - begin
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        if storage == "cached":
            wait_for_controllers()
        processor, faults = (now - then for now, then in zip(used(), before))
        stop.set()
        for reader in readers:
            reader.join()
    if done.returncode != program.status:
        raise RuntimeError(f"{program.name} ended with {done.returncode}: {said[-400:]}")
    run = {"seconds": seconds, "processor": processor, "page_faults": faults, "output": hashlib.sha256(done.stdout).hexdigest(), "asked": asked[0] if asked else None}
    if contender in ("speculating", "accounted") and storage != "cached":
        run["statistics"] = json.loads(stats.read_text())
        run["processor"] += run["statistics"]["controller"]["seconds"]
    return run


def contenders_of(program: Program, storage: str) -> list[str]:
    if storage == "cached":
        return ["plain", "speculating", "again"]  # the plain program again: what the machine itself makes of equal runs
    # Readers ahead know of no cache: what they read too early would be evicted. Runs on a fast disk differ by more than what is looked for.
    return ["plain", "speculating", *(["hinted"] if program.hinted else []), *([] if without_cache(storage) != storage else ["ahead"]),
            *(["again"] if without_cache(storage) == "disk" else [])]


def is_accounted(storage: str) -> bool:
    """A traced run tells which reads were hinted: where there are hints by a copy for sure, which is on slow storage."""
    return without_cache(storage) == storage and storage.startswith(("slow-", "gluster-"))


def sized_for(storage: str, options) -> argparse.Namespace:
    if storage != "cached":
        return options
    larger = copy.copy(options)
    larger.slices *= CACHED_SLICES
    larger.files = options.many_files
    return larger


def order_of(contenders: list[str], turn: int) -> list[str]:
    """Each is first in turn, and what it comes after changes, too: a run leaves something to the next, as a journal to be written."""
    first = turn % max(1, len(contenders))  # none: only an account is wanted
    return (contenders[first:] + contenders[:first])[::-1 if turn // max(1, len(contenders)) % 2 else 1]


def measure(program: Program, storage: str, data: Path, options, old: list[dict]) -> dict:
    contenders = [c for c in contenders_of(program, storage) if c in options.contenders]
    if storage == "cached":
        adopt_controllers()
    runs: dict[str, list] = {contender: [] for contender in contenders}
    for turn in range(CACHED_RUNS if storage == "cached" else options.runs):
        for contender in order_of(contenders, turn):
            runs[contender].append(run_once(program, storage, contender, data, options))
            print(f"{program.name} on {storage}: {contender} {runs[contender][-1]['seconds']:.3f} s", flush=True)
    if is_accounted(storage) and "accounted" in options.contenders and not any(c["runs"].get("accounted") for c in old if (c["program"], c["storage"]) == (program.name, storage)):
        runs["accounted"] = [run_once(program, storage, "accounted", data, options)]
    return {"program": program.name, "storage": storage, "quick": options.quick, "runs": runs}


def provenance(options) -> dict:
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"commit": commit, "kernel": platform.release(), "processors": os.cpu_count(), "files": options.files,
            "objects": options.objects, "slices": options.slices, "edge": options.edge}


def cells_in(path: Path) -> list[dict]:
    return json.loads(path.read_text())["cells"] if path.exists() else []


def joined(cell: dict, old: list[dict]) -> dict:
    """The cell with the runs before its own of the same one, of the same size, that is in `old`."""
    same = next((c for c in old if all(c[k] == cell[k] for k in ("program", "storage", "quick"))), None)
    if same:
        cell = {**cell, "runs": {k: same["runs"].get(k, []) + cell["runs"].get(k, []) for k in {**same["runs"], **cell["runs"]}}}
    if len({run["output"] for of in cell["runs"].values() for run in of}) != 1:
        raise RuntimeError(f"{cell['program']} on {cell['storage']}: outputs differ")
    return cell


def write_json(path: Path, cells: list[dict], options):
    """Cells of other programs and storages that are there already stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = {(c["program"], c["storage"]) for c in cells}
    kept = [c for c in cells_in(path) if (c["program"], c["storage"]) not in fresh]
    path.write_text(json.dumps({"machine": provenance(options), "cells": kept + cells}, indent=1) + "\n")


def show(path: Path):
    from experiments.slow_storage.plots import draw_all  # needs a library that measuring does not
    text = speculate_markdown(json.loads(path.read_text()))
    path.with_suffix(".md").write_text(text)
    print(text)
    print("\n".join(f"figure: {file}" for file in draw_all(path)))


def measure_all(options) -> list[dict]:
    cells, old = [], cells_in(options.json) if options.add else []
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        for name in ("search", "slices"):
            compiled_app(options.build, name, options.work)
        for name, storage in wanted_cells(options):
            program, sized = PROGRAMS[name], sized_for(storage, options)
            data = options.work / f"{program.kind}-{sized.files}"
            if not data.exists():
                program.data(data, sized)
                os.sync()
            cells.append(joined(measure(program, storage, data, sized, old), old))
            write_json(options.json, cells, options)
    finally:
        if not options.keep:
            shutil.rmtree(options.work, ignore_errors=True)
    return cells


def main() -> int:
    options = parse_arguments()
    if not options.draw:
        try:
            measure_all(options)
        except slow.Unavailable as reason:
            print(f"speculate: {reason}", file=sys.stderr)
            return 1
    show(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
