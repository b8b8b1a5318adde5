# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures like 3, 4, 5 and 6 of the OSDI 1999 paper, as SVG, made from the experiment's JSON alone."""

import json
import re
from pathlib import Path

from experiments.slow_storage.table import CONTENDERS, cut, seconds
from harness.plots import plt, save

MARKERS = {"speculating": "o", "hinted": "s", "ahead": "^"}


def draw_all(json_file: Path) -> list[Path]:
    """The files that were written, beside the JSON: those for which there are cells."""
    cells = json.loads(json_file.read_text())["cells"]
    figures = {"3-times": times(cells), "4-cached": cached(cells),
               "5-servers": lines(cells, r"slow-(\d+)x15$", "servers of 15 ms"),
               "6-latency": lines(cells, r"slow-4x([\d.]+)$", "ms a request of four servers"),
               "7-cache": lines(cells, r"slow-4x15-(\d+)M$", "MB of cache, four servers of 15 ms")}
    return [save(figure, json_file, name) for name, figure in figures.items() if figure]


def times(cells: list[dict]):
    """3: execution time of each contender as a share of the plain program's."""
    chosen = [c for c in cells if c["storage"] != "cached" and not re.search(r"-\d+M$", c["storage"])]
    if not chosen:
        return None
    figure, axes = plt.subplots(figsize=(2 + 1.1 * len(chosen), 4), layout="constrained")
    for i, contender in enumerate(CONTENDERS):
        bars = [(x + 0.16 * i, seconds(c, contender) / seconds(c, "plain")) for x, c in enumerate(chosen) if seconds(c, contender)]
        if bars:
            axes.bar(*zip(*bars), 0.16, label=CONTENDERS[contender])
    axes.set(ylabel="time over plain")
    axes.set_xticks([x + 0.32 for x in range(len(chosen))], [f"{c['program']}\n{c['storage']}" for c in chosen], fontsize=8)
    axes.legend()
    return figure


def cached(cells: list[dict]):
    """4: what speculation costs when all is in memory."""
    chosen = [c for c in cells if c["storage"] == "cached"]
    if not chosen:
        return None
    figure, axes = plt.subplots(figsize=(2 + 1.1 * len(chosen), 4), layout="constrained")
    for i, of in enumerate(("seconds", "processor")):
        ratios = []
        for cell in chosen:
            middle = {k: sorted(r[of] for r in cell["runs"][k])[len(cell["runs"][k]) // 2] for k in ("plain", "speculating")}
            ratios.append(100 * (middle["speculating"] / middle["plain"] - 1))
        axes.bar([x + 0.4 * i for x in range(len(chosen))], ratios, 0.4, label={"seconds": "wall time", "processor": "processor time"}[of])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(ylabel="more than plain, %")
    axes.set_xticks([x + 0.2 for x in range(len(chosen))], [c["program"] for c in chosen])
    axes.legend()
    return figure


def lines(cells: list[dict], pattern: str, label: str):
    """5, 6 and 7: the share of time that is cut, over a number in the name of the storage."""
    found = [(c, float(match[1])) for c in cells if (match := re.match(pattern, c["storage"]))]
    if len({x for _, x in found}) < 2:
        return None
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for program in dict.fromkeys(c["program"] for c, _ in found):
        for contender, marker in MARKERS.items():
            points = sorted((x, 100 * cut(c, contender)) for c, x in found if c["program"] == program and cut(c, contender) is not None)
            if points:
                axes.plot(*zip(*points), marker=marker, label=f"{program}, {CONTENDERS[contender]}")
    axes.set(xlabel=label, ylabel="time cut, %", xscale="log", ylim=(0, 100))
    axes.legend(fontsize=7)
    return figure
