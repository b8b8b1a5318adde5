# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the harnesses with a table share: the command, how it ends, its JSON, the run under pagecast."""

import re
import sys
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from harness import disk
from harness import interruption
from harness import runs
from harness.asked import Failed, read_result
from harness.limits import MemoryGroup, Unavailable
from harness.report import Screen, provenance, write_json


def phases(errors: str) -> dict[str, float]:
    """What --times printed: phase, seconds (apps/common.h)."""
    return {m[1]: float(m[2]) for m in re.finditer(r"^\w+: (\S+) +(\d+\.\d+) s$", errors, re.MULTILINE)}


def run_paged(pagecast: Path, work: Path, limit: int, command: list, timeout: float, *options: str) -> runs.Run:
    """A program that was compiled with pagecast, cold, under a limit, without swap, with its statistics."""
    stats = work / "stats.json"
    stats.unlink(missing_ok=True)
    disk.forget()
    with MemoryGroup(limit, swap=False) as group:
        done = runs.run([pagecast, "run", "--backing", work, "--stats", stats, *options, "--", *command], group, timeout=timeout)
    done.stats = runs.read_stats(stats)
    return done


def result(kind: str, options: Namespace, **more) -> dict:
    """The JSON: what was asked where, by how many continuations, and the samples."""
    return provenance(kind=kind, options=options.asked, build_sha256=options.build_sha256,
                      continued=options.earlier["continued"] + 1 if options.earlier else 0, limit_bytes=options.limit_bytes,
                      runs=options.runs, **more)


def measure_and_report(name: str, measured, json_file: Path, table: Callable[[dict], str], screen: Screen) -> int:
    """Measures until the end or an interruption, then writes samples and table. `measured` has measure(), result() and
    failures()."""
    interrupted = False
    try:
        measured.measure()
    except KeyboardInterrupt:
        interrupted = True
    data = measured.result()
    write_json(json_file, data)
    print(table(data), end="", flush=True)
    screen.say(f"{name}: the raw samples are in {json_file}")
    failures = measured.failures()
    for sentence in failures:
        screen.say(f"{name}: {sentence}")
    if interrupted:
        screen.say(f"{name}: interrupted; swap file and control groups are removed")
    return 130 if interrupted else 1 if failures else 0


def main(name: str, parse: Callable[[], Namespace], table: Callable[[dict], str], kind: Callable[[Namespace, Screen], object],
         plots: str | None = None) -> int:
    """The command: measures what `kind` makes of the options; it has resume(result) for an earlier run, and prepare().
    Options with `table` set only make the table, and the figures, of an earlier run. `plots` names a module whose draw_all(JSON)
    makes these."""
    def work() -> int:
        screen, options = Screen(sys.stderr), parse()
        if options.table:
            print(table(read_result(options.table, name)), end="")
            file, status = options.table, 0
        else:
            measured = kind(options, screen)
            if options.earlier:
                measured.resume(options.earlier)
            measured.prepare()
            file, status = options.json, measure_and_report(name, measured, options.json, table, screen)
        for figure in import_module(plots).draw_all(file) if plots else ():
            screen.say(f"{name}: a figure is in {figure}")
        return status
    return exit_status(name, work)


def exit_status(name: str, work: Callable[[], int]) -> int:
    """Of the command: 0 measured; 1 an output differed or a run of ours failed; 2 it could not be measured; 130
    interrupted."""
    interruption.install()
    try:
        return work()
    except (Failed, Unavailable, RuntimeError, ValueError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
