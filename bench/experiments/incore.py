# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pagecast costs when it has nothing to do: the plain and the pagecast build of the programs, with
a budget larger than their data, in turns. Needs no privilege."""

import argparse
import sys
from pathlib import Path
from statistics import median

from harness import runs
from harness.asked import chosen
from harness.building import compile_both
from harness.contenders import PROGRAMS, ROOT, Program, prepare_keys
from harness.experiment import exit_status
from harness.report import Screen, parse_size, provenance, write_json
from rich.table import Table
from harness.traffic import buk_keys

ALLOWED = 1.03
KINDS = ("plain", "pagecast")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--size", default="700M", help="of the data")
    parser.add_argument("--repetitions", type=int, default=11)
    parser.add_argument("--quick", action="store_true", help="a look at the harness: 64M, three times")
    parser.add_argument("--programs", default="buk,matvec", help="with commas between")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "incore.json")
    options = parser.parse_args()
    if options.quick:
        options.size, options.repetitions = "64M", 3
    options.build = options.build.resolve()
    options.work = options.build / "demo"
    options.size_bytes = parse_size(options.size)
    return options


def run(program: Program, executable: Path, options: argparse.Namespace) -> runs.Run:
    done = runs.run([executable, *program.arguments(options.size_bytes, options.work / "keys-incore")])
    if not done.ok:
        raise RuntimeError(f"{executable.name} ended with {done.status}: {done.errors.strip()[-400:]}")
    return done


def measure(program: Program, options: argparse.Namespace, screen: Screen) -> dict:
    """The order changes from turn to turn: neither build always comes first."""
    built = compile_both(program, options.build, options.work)
    samples: dict[str, list[runs.Run]] = {k: [] for k in KINDS}
    for turn in range(options.repetitions):
        screen.step(f"{program.name}, {turn + 1} of {options.repetitions}")
        for kind in KINDS if turn % 2 == 0 else reversed(KINDS):
            samples[kind].append(run(program, built[kind], options))
    medians = {k: median(s.wall_s for s in samples[k]) for k in KINDS}
    return {"name": program.name, "plain_s": medians["plain"], "pagecast_s": medians["pagecast"],
            "ratio": medians["pagecast"] / medians["plain"],
            "cpu_ratio": median(s.cpu_s for s in samples["pagecast"]) / median(s.cpu_s for s in samples["plain"]),
            "identical": len({s.output for k in KINDS for s in samples[k]}) == 1,
            "samples": {k: [s.sample() for s in samples[k]] for k in KINDS}}


def print_table(data: dict, screen: Screen):
    table = Table(title=f"{data['data_bytes'] >> 20} MiB of data, all in memory; seconds, medians of {data['repetitions']}")
    for name in ("program", "plain clang", "pagecast", "ratio", "ratio of CPU time", "identical"):
        table.add_column(name, justify="left" if name == "program" else "right")
    for p in data["programs"]:
        table.add_row(p["name"], f"{p['plain_s']:.3f}", f"{p['pagecast_s']:.3f}", f"{p['ratio']:.3f}", f"{p['cpu_ratio']:.3f}",
                      "yes" if p["identical"] else "NO")
    screen.console.print(table)


def measure_all() -> int:
    screen, options = Screen(), parse_arguments()
    programs = [PROGRAMS[name] for name in chosen(options.programs, PROGRAMS, "--programs")]
    options.work.mkdir(parents=True, exist_ok=True)
    prepare_keys(options.work / "keys-incore", buk_keys(options.size_bytes) + 2, screen.say)
    with screen.steps(len(programs) * options.repetitions):
        measured = [measure(p, options, screen) for p in programs]
    data = provenance(data_bytes=options.size_bytes, repetitions=options.repetitions, programs=measured)
    write_json(options.json, data)
    print_table(data, screen)
    for p in measured:
        if p["ratio"] > ALLOWED:
            screen.say(f"{p['name']}: missed at most 3 % slower than plain clang (it is {100 * (p['ratio'] - 1):.1f} %)")
    if different := [p["name"] for p in measured if not p["identical"]]:
        print(f"demo-incore: not every output is the same as plain clang's: {', '.join(different)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(exit_status("demo-incore", measure_all))
