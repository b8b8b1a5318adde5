# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures like 10 a, b and c of the OSDI 2000 paper, as SVG, made from the JSON alone."""

import json
from pathlib import Path

from experiments.interactive_table import VERSIONS, hard_faults, over_alone, response_ms, versions_beside
from harness.plots import plt, save

MARKERS = {"original": "o", "prefetch": "s", "aggressive": "^", "buffered": "D", "incore": "v", "alone": "x"}
CHOSEN_SLEEP = 5.0  # seconds: the paper's, for b and c; the nearest that was measured


def draw_all(json_file: Path) -> list[Path]:
    """The files that were written, beside the JSON: one for each program (a), and two (b, c)."""
    data = json.loads(json_file.read_text())
    if not data["points"]:
        return []
    sleep = min(data["sleeps_s"], key=lambda s: abs(s - CHOSEN_SLEEP))
    out = [save(response_figure(data, p), json_file, f"a-{p}") for p in data["programs"]]
    out.append(save(bars(data, sleep, over_alone, f"response over alone, sleep {sleep:g} s", 1.0), json_file, "b"))
    out.append(save(bars(data, sleep, hard_faults, f"hard faults of a sweep, sleep {sleep:g} s", None), json_file, "c"))
    return out


def response_figure(data: dict, program: str):
    """10 a: response time against sleep time, beside one program."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for version in data["versions"]:
        points = [(s, response_ms(data, program, version, s)) for s in data["sleeps_s"]]
        points = [(s, ms) for s, ms in points if ms is not None]
        if points:
            axes.plot(*zip(*points), marker=MARKERS[version], label=VERSIONS[version])
    axes.set(title=f"beside {program}", xlabel="sleep, s", ylabel="response, ms", yscale="log")
    axes.legend()
    return figure


def bars(data: dict, sleep: float, value, label: str, line: float | None):
    """10 b and c: each program with each version, at one sleep time."""
    figure, axes = plt.subplots(figsize=(1.5 + 1.2 * len(data["programs"]), 4), layout="constrained")
    versions = versions_beside(data)
    width = 0.8 / len(versions)
    for i, version in enumerate(versions):
        heights = [value(data, p, version, sleep) or 0 for p in data["programs"]]
        axes.bar([x + i * width for x in range(len(heights))], heights, width, label=VERSIONS[version])
    if line:
        axes.axhline(line, color="black", linewidth=0.8)
    axes.set_xticks([x + 0.4 - width / 2 for x in range(len(data["programs"]))], data["programs"])
    axes.set(ylabel=label, yscale="symlog")
    axes.legend()
    return figure
