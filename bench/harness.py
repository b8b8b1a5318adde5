# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the harnesses with a table share: how they end, what they refuse, the phases that the programs print."""

import json
import re
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection
from pathlib import Path

import disk
import runs
from contenders import ROOT
from limits import MemoryGroup, Unavailable
from report import Screen, parse_size, write_json

LEAST_LIMIT = 32 << 20


class Failed(Exception):
    """Nothing can be measured; the message says why."""


def interrupt(*_):
    """SIGTERM and Ctrl-C unwind, so that swap file and control groups are removed; once that has begun, it must
    not be interrupted, nor the tools that it starts."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def chosen(words: str, known: Collection[str], option: str) -> list[str]:
    """Names with commas between, each of them known. Raises Failed with a sentence."""
    names = [w.strip() for w in words.split(",")]
    for name in names:
        if name not in known:
            raise Failed(f"{option}: there is no '{name}'; there are {', '.join(known)}")
    return names


def add_files(parser: ArgumentParser, name: str, holds: str, made: str = "the table"):
    """--json, --table, --build, --work. `holds` says what else --work holds, `made` what --table makes."""
    parser.add_argument("--json", type=Path, default=ROOT / "results" / f"{name}.json", help="for the raw samples")
    parser.add_argument("--table", type=Path, metavar="JSON", help=f"only make {made} of an earlier run")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--work", type=Path, help=f"directory on a disk for programs, {holds} and backing files; default BUILD/{name}")


def check_common(options: Namespace, name: str):
    """Of the options that all have: --runs, --limit, --timeout, --build, --work."""
    if options.runs < 1:
        raise Failed(f"--runs {options.runs}: at least one run is needed")
    if options.timeout <= 0:
        raise Failed(f"--timeout {options.timeout:g}: give the seconds after which a run is given up")
    options.limit_bytes = parse_size(options.limit)
    if options.limit_bytes < LEAST_LIMIT:
        raise Failed(f"--limit {options.limit}: too little for a program and the runtime; use 32M or more")
    options.build = options.build.resolve()
    options.work = (options.work or options.build / name).resolve()


def read_result(path: Path, kind: str) -> dict:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Failed(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(data, dict) or (data.get("kind"), data.get("version")) != (kind, 1):
        raise Failed(f"{path} is not a result of make {kind}, version 1; name the file that --json wrote")
    return data


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
         draw: Callable[[Path, Screen], None] | None = None) -> int:
    """The command: measures what `kind` makes of the options, whose prepare() comes first. Options with `table` set only
    make the table, and the figures, of an earlier run."""
    def work() -> int:
        screen, options = Screen(sys.stderr), parse()
        if options.table:
            print(table(read_result(options.table, name)), end="")
            file, status = options.table, 0
        else:
            measured = kind(options, screen)
            measured.prepare()
            file, status = options.json, measure_and_report(name, measured, options.json, table, screen)
        if draw:
            draw(file, screen)
        return status
    return exit_status(name, work)


def exit_status(name: str, work: Callable[[], int]) -> int:
    """Of the command: 0 measured; 1 an output differed or a run of ours failed; 2 it could not be measured; 130
    interrupted."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)
    try:
        return work()
    except (Failed, Unavailable, RuntimeError, ValueError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
