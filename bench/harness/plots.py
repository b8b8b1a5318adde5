# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures as SVG, beside the JSON that they are made from alone: the same bytes from the same JSON. matplotlib takes a second to
load, so that experiments load what draws when they draw."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402, the backend comes first

plt.rcParams["svg.hashsalt"] = "pagecast"
plt.rcParams["svg.fonttype"] = "none"  # text stays text: files of a third of the size, which can be searched


def save(figure, json_file: Path, name: str) -> Path:
    """The file that was written."""
    file = json_file.with_name(f"{json_file.stem}-{name}.svg")
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
    return file
