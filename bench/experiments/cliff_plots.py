# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cliff's curves, as SVG, made from its JSON alone: one figure for each program."""

import json
from pathlib import Path

from experiments.cliff_table import CONTENDERS
from harness.figures import least_wall_s, middle, values
from harness.plots import plt, save

MARKERS = {"pagecast": "s", "swap": "o"}


def draw_all(json_file: Path) -> list[Path]:
    """The files that were written, beside the JSON."""
    data = json.loads(json_file.read_text())
    return [save(curves(entry), json_file, entry["name"]) for entry in data["programs"]]


def curves(entry: dict):
    """Time against the limit; what was stopped is drawn where it was."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for contender, marker in MARKERS.items():
        points = [(p["factor"], seconds) for p in entry["points"] if (seconds := least_wall_s(p["samples"][contender])) is not None]
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
