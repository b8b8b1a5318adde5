# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cliff's curves, as SVG, made from its JSON alone: one figure for each program."""

import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402, the backend comes first

from experiments.cliff_table import CONTENDERS, wall_s  # noqa: E402
from harness.figures import middle, values  # noqa: E402

MARKERS = {"pagecast": "s", "swap": "o"}


def draw_all(json_file: Path) -> list[Path]:
    """The files that were written, beside the JSON."""
    data = json.loads(json_file.read_text())
    plt.rcParams["svg.hashsalt"] = "pagecast"  # the same figures from the same JSON
    out = []
    for entry in data["programs"]:
        file = json_file.with_name(f"{json_file.stem}-{entry['name']}.svg")
        figure = curves(entry)
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)
        out.append(file)
    return out


def curves(entry: dict):
    """Time against the limit; what was stopped is drawn where it was."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for contender, marker in MARKERS.items():
        points = [(p["factor"], seconds) for p in entry["points"] if (seconds := wall_s(p, contender)) is not None]
        if points:
            axes.plot(*zip(*points), marker=marker, label=CONTENDERS[contender])
    core = middle(values(entry["incore"], "wall_s"))
    if core:
        axes.axhline(core, color="black", linewidth=0.8, label=CONTENDERS["incore"])
    axes.set(title=entry["words"], xlabel="memory limit, in hot data", ylabel="seconds", yscale="log")
    axes.invert_xaxis()
    if axes.has_data():
        axes.legend()
    return figure
