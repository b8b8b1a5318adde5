# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who should prefetch into an I/O node's cache: the figures of PACT 2008 by simulation, as SVG, and its means beside ours.

Nothing is measured: it is virtual time, and the same on every machine. Writes DIR/sharing-sim.json and the figures beside it."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from harness.asked import Failed
from harness.experiment import exit_status
from harness.markdown import table
from harness.plots import plt, save

SCHEMES = ("independent", "1 reserved", "2 reserved", "3 reserved", "adaptive", "live")
USUAL = {"nodes": 1, "cache": 150, "threshold": 0.8, "interval": 0.1, "policy": "aging"}
# What the paper says in words: (what, scheme, over, processors, per cent).
SAID = [("independent over none", "independent", "none", 8, 9.1), ("adaptive over none", "adaptive", "none", 8, 19.9),
        ("adaptive over independent", "adaptive", "independent", 8, 11.9), ("adaptive over 1 reserved", "adaptive", "1 reserved", 8, 10.3),
        ("adaptive over none", "adaptive", "none", 16, 17.9), ("adaptive over independent", "adaptive", "independent", 16, 21.7),
        ("adaptive over 1 reserved", "adaptive", "1 reserved", 16, 16.5), ("live over none", "live", "none", 8, None),
        ("live over none", "live", "none", 16, None)]
SPEEDUPS = {"HF": 9.3, "3D-vis": 6.4, "Cholesky": 10.4, "Mgrid": 6.5}
HF_ALONE = [(1, 29.5), (12, 1.3)]


class Cells:
    def __init__(self, document: dict):
        self.programs = [program["name"] for program in document["programs"]]
        self.cells = document["cells"]

    def find(self, **wanted) -> "dict | None":
        wanted = {**USUAL, **wanted}
        return next((c for c in self.cells if all(c[name] == value for name, value in wanted.items())), None)

    def processors(self) -> list[int]:
        return sorted({c["processors"] for c in self.cells})

    def saved(self, program: str, scheme: str, over: str, base: "dict | None" = None, **where) -> "float | None":
        """Per cent of the time; `base`: what is different for the scheme that it is compared with."""
        by = self.find(program=program, scheme=scheme, **where)
        than = self.find(program=program, scheme=over, **(where if base is None else base))
        return 100 * (1 - by["micros"] / than["micros"]) if by and than else None

    def mean(self, *arguments, **where) -> "float | None":
        each = [self.saved(program, *arguments, **where) for program in self.programs]
        return None if None in each else sum(each) / len(each)

    def speedup(self, program: str, processors: int) -> float:
        one, many = (self.find(program=program, scheme="none", processors=p)["micros"] for p in (1, processors))
        return one / many


def lines(cells: Cells, value, label: str, most: int = 16):
    figure, axes = plt.subplots(layout="constrained")
    counts = [p for p in cells.processors() if p <= most]
    for program in cells.programs:
        axes.plot(counts, [value(program, p) for p in counts], marker="o", markersize=3, label=program)
    axes.axhline(0, color="grey", linewidth=0.5)
    axes.set(xlabel="processors", ylabel=label)
    axes.legend()
    return figure


def harmful(cells: Cells, program: str, processors: int) -> float:
    cell = cells.find(program=program, scheme="independent", processors=processors)
    return 100 * (cell["harmful_intra"] + cell["harmful_inter"]) / max(1, cell["prefetches"])


def bars(groups: dict, label: str):
    """`groups`: of each series, its bars by name."""
    figure, axes = plt.subplots(layout="constrained")
    names = list(next(iter(groups.values())))
    for i, (series, values) in enumerate(groups.items()):
        axes.bar([x + 0.8 * i / len(groups) for x in range(len(names))], [values[name] for name in names], 0.8 / len(groups), label=series)
    axes.axhline(0, color="grey", linewidth=0.5)
    axes.set_xticks([x + 0.4 - 0.4 / len(groups) for x in range(len(names))], names)
    axes.set(ylabel=label)
    axes.legend()
    return figure


def by(cells: Cells, field: str, values, scheme: str, over: str, base=None) -> dict:
    return {f"{p} processors": {str(v): cells.mean(scheme, over, base=base and {"processors": p}, processors=p, **{field: v}) for v in values}
            for p in (8, 16)}


def figures(cells: Cells) -> dict:
    saved = "% of the time saved"
    drawn = {"2": lines(cells, cells.speedup, "speedup without prefetching"),
             "3a": lines(cells, lambda program, p: cells.saved(program, "independent", "none", processors=p), f"{saved}, independent"),
             "3b": lines(cells, lambda program, p: harmful(cells, program, p), "% of prefetches that are harmful, independent"),
             "13a": lines(cells, lambda program, p: cells.saved(program, "adaptive", "none", processors=p), f"{saved}, adaptive"),
             "13a-live": lines(cells, lambda program, p: cells.saved(program, "live", "none", processors=p), f"{saved}, live")}
    if cells.find(scheme="1 reserved") is None:
        return drawn
    drawn["13b"] = bars({f"{p} processors": {name: cells.mean(name, "none", processors=p) for name in SCHEMES} for p in (8, 16)},
                        f"{saved} over none, mean")
    for name, field, values in (("14", "cache", (150, 200, 300, 400, 500)), ("15", "nodes", (1, 2, 4))):
        for scheme in ("adaptive", "live"):
            label = f"{saved} over independent, {scheme}, by {'MB of cache' if field == 'cache' else 'I/O nodes'}"
            drawn[name if scheme == "adaptive" else f"{name}-live"] = bars(by(cells, field, values, scheme, "independent"), label)
    for name, field, values in (("16", "threshold", (0.5, 0.6, 0.7, 0.8, 0.9)), ("17", "interval", (0.01, 0.02, 0.05, 0.1, 0.2, 0.5))):
        drawn[name] = bars(by(cells, field, values, "adaptive", "none", base=True), f"{saved} over none, by {field}")
    return drawn


def sharing_markdown(cells: Cells) -> str:
    rows = []
    show = lambda value: "–" if value is None else f"{value:.1f} %"  # noqa: E731
    for what, scheme, over, processors, said in SAID:
        rows.append([what, str(processors), show(said), show(cells.mean(scheme, over, processors=processors))])
    for processors, said in HF_ALONE:
        rows.append(["HF, independent over none", str(processors), show(said), show(cells.saved("HF", "independent", "none", processors=processors))])
    for program, said in SPEEDUPS.items():
        rows.append([f"{program}, speedup", "16", f"{said}", f"{cells.speedup(program, 16):.1f}"])
    return table(["what", "processors", "paper", "simulated"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"), help="the build tree")
    parser.add_argument("--output", type=Path, default=Path("results"), help="folder for the JSON and the figures")
    parser.add_argument("--processors", type=int, default=128, help="the most processors")
    parser.add_argument("--quick", action="store_true", help="only what varies the number of processors")
    options = parser.parse_args()
    simulator = options.build / "bin" / "pagecast-sharing-sim"
    if not simulator.exists():
        raise Failed(f"{simulator} is missing; run make build")
    done = subprocess.run([simulator, "--processors", str(options.processors), *(["--quick"] if options.quick else [])], capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip() or "the simulator failed")
    options.output.mkdir(parents=True, exist_ok=True)
    file = options.output / "sharing-sim.json"
    file.write_text(done.stdout)
    cells = Cells(json.loads(done.stdout))
    drawn = [save(figure, file, name) for name, figure in figures(cells).items()]
    if options.processors >= 16:
        print(sharing_markdown(cells))
    print(f"sharing_sim: {file} and {len(drawn)} figures beside it")
    return 0


if __name__ == "__main__":
    sys.exit(exit_status("sharing_sim", main))
