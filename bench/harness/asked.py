# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is asked of a harness with a table: the options that all have, and those of an earlier run that is continued."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Collection
from pathlib import Path

from harness.contenders import ROOT
from harness.report import build_sha256, parse_size, provenance

LEAST_LIMIT = 32 << 20
FILES = ("json", "table", "continued", "build")  # options that say nothing of what is measured
MAY_CHANGE = ("runs", "timeout")                 # when a run is continued
SAME_MEMORY = 0.02                               # what a kernel keeps for itself varies from start to start


class Failed(Exception):
    """Nothing can be measured; the message says why."""


def chosen(words: str, known: Collection[str], option: str) -> list[str]:
    """Names with commas between, each of them known. Raises Failed with a sentence."""
    names = [w.strip() for w in words.split(",")]
    for name in names:
        if name not in known:
            raise Failed(f"{option}: there is no '{name}'; there are {', '.join(known)}")
    return names


def parse(parser: ArgumentParser, name: str, words: list[str] | None, holds: str, made: str = "the table", quick: dict | None = None) -> Namespace:
    """The options, with those that all harnesses have. `holds` says what else --work holds, `made` what --table makes, `quick`
    what --quick stands for. `asked` has all that says what is measured, `earlier` the result that is continued, or None."""
    add_files(parser, name, holds, made)
    options, earlier = parser.parse_args(words), None
    if options.continued and not options.table:
        earlier = read_result(options.continued, name)
        refuse_strangers(earlier, options)
        parser.set_defaults(json=options.continued, **earlier["options"])
        options = parser.parse_args(words)
    if quick and options.quick:
        vars(options).update(quick, quick=False)
    names = [n for n in vars(options) if n not in FILES]
    check_common(options, name)
    options.asked = {n: str(v) if isinstance(v := getattr(options, n), Path) else v for n in names}
    options.earlier, options.build_sha256 = earlier, build_sha256(options.build)
    if earlier:
        refuse_changes(earlier["options"], options)
    return options


def add_files(parser: ArgumentParser, name: str, holds: str, made: str):
    parser.add_argument("--json", type=Path, default=ROOT / "results" / f"{name}.json", help="for the raw samples, saved after every run")
    parser.add_argument("--continue", type=Path, metavar="JSON", dest="continued",
                        help="make only what this earlier run, which was interrupted, lacks, and add it to the file; the options are "
                             f"that run's: only {' and '.join(f'--{n}' for n in MAY_CHANGE)} may be others")
    parser.add_argument("--table", type=Path, metavar="JSON", help=f"only make {made} of an earlier run")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--work", type=Path, help=f"directory on a disk for programs, {holds} and backing files; default BUILD/{name}")


def check_common(options: Namespace, name: str):
    """Of --runs, --limit where there is one for all, --timeout, --build and --work."""
    if options.runs < 1:
        raise Failed(f"--runs {options.runs}: at least one run is needed")
    if options.timeout <= 0:
        raise Failed(f"--timeout {options.timeout:g}: give the seconds after which a run is given up")
    options.limit_bytes = parse_size(options.limit) if hasattr(options, "limit") else None
    if options.limit_bytes is not None and options.limit_bytes < LEAST_LIMIT:
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


def refuse_strangers(earlier: dict, options: Namespace):
    """Samples of another commit, build or machine do not belong into one table with ours."""
    here = provenance()
    for what in ("commit", "kernel"):
        if earlier[what] != here[what]:
            raise Failed(f"--continue {options.continued}: its {what} is {earlier[what]}, here it is {here[what]}: measure all again")
    if not is_same_machine(earlier["machine"], here["machine"]):
        raise Failed(f"--continue {options.continued}: it was measured on another machine: measure all again")
    if earlier.get("build_sha256") != build_sha256(options.build):
        raise Failed(f"--continue {options.continued}: it was measured with another build of pagecast: measure all again")


def is_same_machine(a: dict, b: dict) -> bool:
    same = all(a[n] == b[n] for n in ("architecture", "processors", "model"))
    return same and abs(a["memory_bytes"] - b["memory_bytes"]) <= SAME_MEMORY * b["memory_bytes"]


def refuse_changes(before: dict, options: Namespace):
    for name, value in options.asked.items():
        if name not in MAY_CHANGE and value != before.get(name):
            raise Failed(f"--{name.replace('_', '-')} {value}: the run that is continued was made with {before.get(name)}; "
                         f"only {' and '.join(f'--{n}' for n in MAY_CHANGE)} may be others")
    if options.runs < before["runs"]:
        raise Failed(f"--runs {options.runs}: the run that is continued was to make {before['runs']}")
