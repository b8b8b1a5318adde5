# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that were not written for us: source packages of Debian, built with CC=pagecast-cc at their own flags,
must pass their own tests as they are, and while their data are paged under a small budget.

Each package is fetched (once), unpacked, built (again only when the recipe or the compiler changed), tested with
the runtime switched off, and tested under the budget. There a preloaded library takes more memory than the budget,
so that the suites' small data go to disk too. Some packages add a program run on more data than the budget, whose
output must be the same with paging and without.

With --speculate, suites of programs that read files run on slow storage, plain and under `pagecast speculate`, and
each single test must end the same way.

The exit status is 0 when no package failed and one passed at least; packages that cannot be fetched are skipped,
with the reason."""

import argparse
import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness.report import Screen, parse_size, provenance, write_json  # noqa: E402

from archive import Archive  # noqa: E402
from job import PROGRAMS_OF_OURS, Broken, Job, Settings, make_pressure  # noqa: E402
from outcome import hint_table, paging_table, suite_table, summary, totals  # noqa: E402
from recipes import RECIPES, Recipe  # noqa: E402
from speculated import SuiteJob  # noqa: E402
from suites import SUITES, Suite  # noqa: E402

LEAST_BUDGET = 16 << 20
INTERRUPTED = 130


class Usage(Exception):
    """What was asked for makes no sense; the text is a sentence."""


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree of Pagecast")
    parser.add_argument("--packages", metavar="A,B", help="only these, with commas between (default: all of --list)")
    parser.add_argument("--list", action="store_true", help="say which packages there are, and end")
    parser.add_argument("--speculate", action="store_true",
                        help="instead, the suites of programs that read files, as a whole under pagecast speculate (root)")
    parser.add_argument("--memory", default="16M", help="budget of each process (default and least: 16M)")
    parser.add_argument("--pressure", default="24M",
                        help="memory that the preloaded library keeps reading in each process; 0: none, and most suites fit the budget")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilations and tests at a time")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds after which a step of a package is given up")
    parser.add_argument("--fresh", action="store_true", help="unpack and build again; downloads are kept")
    parser.add_argument("--keep", action="store_true", help="keep the statistics of every process, not only their sums")
    parser.add_argument("--work", type=Path, help="directory for sources, builds and logs (default: BUILD/real)")
    parser.add_argument("--json", type=Path, help="where the table's data go (default: results/real.json)")
    return parser.parse_args(arguments)


def chosen(text: str | None, all_of_them: tuple) -> list:
    """The recipes or suites of the named packages, in the table's order."""
    if text is None:
        return list(all_of_them)
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = [recipe.name for recipe in all_of_them]
    for name in names:
        if name not in known:
            raise Usage(f"there is no recipe for the package '{name}'; there are {', '.join(known)}")
    if not names:
        raise Usage(f"--packages names no package; write, for example, --packages {known[0]},{known[1]}")
    return [recipe for recipe in all_of_them if recipe.name in names]


def settings_of(options: argparse.Namespace) -> Settings:
    build = options.build.resolve()
    for program in PROGRAMS_OF_OURS:
        if not (build / program).exists():
            raise Usage(f"{build / program} is missing: run make build, or name a build tree with --build")
    budget, pressure = parse_size(options.memory), parse_size(options.pressure)
    if budget < LEAST_BUDGET:
        raise Usage(f"--memory {options.memory} is below the runtime's minimum of 16M")
    if 0 < pressure <= budget:
        raise Usage(f"--pressure {options.pressure} does not exceed the budget of {options.memory}, so it would page nothing; "
                    "make it larger, or 0")
    if options.jobs < 1:
        raise Usage(f"--jobs {options.jobs} is no number of jobs; use 1 or more")
    work = (options.work or build / "real").resolve()
    return Settings(build, work, budget, pressure, options.jobs, options.timeout, options.fresh, options.keep)


def run_all(recipes: list[Recipe | Suite], settings: Settings, screen: Screen, outcomes: list[dict]):
    """Appends to `outcomes` as it goes, so that an interrupted run still has a table."""
    archive = Archive(settings.work / "archive")
    if isinstance(recipes[0], Recipe):
        make_pressure(settings)
    for number, recipe in enumerate(recipes, 1):
        def say(text: str, head=f"[{number}/{len(recipes)}] {recipe.name}: "):
            screen.say(head + text)
        outcome = (SuiteJob if isinstance(recipe, Suite) else Job)(recipe, settings, say).run(archive)
        outcomes.append(outcome)
        say(outcome["state"] + (f": {outcome['why']}" if outcome["why"] else ""))


def main() -> int:
    options = parse_arguments()
    screen = Screen()
    try:
        recipes = chosen(options.packages, SUITES if options.speculate else RECIPES)
        if options.list:
            for recipe in recipes:
                screen.say(f"{recipe.name:16}{recipe.what}")
            return 0
        settings = settings_of(options)
    except (Usage, ValueError) as reason:
        print(f"real: {reason}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcomes, interrupted = [], False
    try:
        run_all(recipes, settings, screen, outcomes)
    except KeyboardInterrupt:
        interrupted = True
    except Broken as reason:
        print(f"real: {reason}", file=sys.stderr)
        return 1
    usual = ROOT / "results" / ("real-speculate.json" if options.speculate else "real.json")
    return finish(outcomes, interrupted, options.json or usual, settings, screen)


def finish(outcomes: list[dict], interrupted: bool, file: Path, settings: Settings, screen: Screen) -> int:
    data = provenance(budget_bytes=settings.budget, pressure_bytes=settings.pressure, packages=outcomes, interrupted=interrupted)
    write_json(file, data)
    if outcomes:
        speculated = any("tests" in entry for entry in outcomes)
        screen.console.print(*([suite_table(data)] if speculated else [hint_table(data), paging_table(data)]))
    for line in summary(outcomes):
        screen.say(line)
    logs = outcomes[0]["logs"] if len(outcomes) == 1 else f"{settings.work}/PACKAGE/logs"
    screen.say(f"data: {file}; logs: {logs}" + ("; interrupted: run again to go on" if interrupted else ""))
    count = totals(outcomes)
    return INTERRUPTED if interrupted else 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
