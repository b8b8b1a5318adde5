# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs that hold their data in every way there is, and how to run them within a budget."""

import json
from pathlib import Path

import pytest

BUDGET = 24 << 20
HERE = Path(__file__).parent / "programs"
# By name. Those in unhurt/ are not among them: their tests are about more than their output.
SOURCES = {source.name: source for room in ("memory", "nests", "places") for source in sorted((HERE / room).glob("*.c*"))}
UNHURT = HERE / "unhurt"
# What all four threads store to here and there fits, and the rest does not. Where it is a little more than the budget, and they go
# round side by side, each step is a page that has just gone: that takes two minutes of a processor instead of one second. Some
# wait for one page after the other, as often as counts of hints need it, and others have several times the budget: an output needs
# less, half more than the budget.
OUTPUT_FLAGS = {"columns.c": ["-DROWS=280", "-DCOLUMNS=8100"], "generators.c": ["-DUPDATES=10000"], "levels.c": ["-DROWS=800"],
                "many_rows.cpp": ["-DROWS=900"], "margins.c": ["-DPLANES=30"], "periodic.c": ["-DROWS=800"], "queues.cpp": ["-DNODES=7500"],
                "rounds.c": ["-DROUNDS=3"], "threads.c": ["-DELEMENTS=(4 << 20)"], "unsplit.c": ["-DELEMENTS=(9l << 19)"]}


def optimized(tools, compiler, name: str, *flags) -> Path:
    """One of the programs, as most tests have it."""
    return tools.compile(compiler, SOURCES[name], "-O3", "-pthread", *flags)


def plain_and_hinted(tools, name: str) -> list[Path]:
    """One of the programs, as tests of its output have it."""
    compilers = ("clang++-19", tools.cxx) if name.endswith(".cpp") else ("clang-19", tools.cc)
    return [optimized(tools, compiler, name, *OUTPUT_FLAGS.get(name, [])) for compiler in compilers]


def paged(active: dict):
    """Skips where this host cannot page, with the runtime's own reason."""
    if not active["active"]:
        pytest.skip(active["why_not"])


def run_paged(tools, disk_dir, stats, *command, memory=BUDGET, options=(), **how):
    """What became of a run with so much memory, and its statistics; `how` is Tools.run's."""
    done = tools.run(tools.pagecast, "run", "--memory", str(memory), "--backing", disk_dir, "--stats", stats, *options, "--", *command,
                     **how)
    assert done.returncode == 0, done.stderr
    figures = json.loads(stats.read_text())
    paged(figures)
    return done, figures


# For interpreters that came with a package: data of 96 MiB, of which a byte a page is stored and summed.
PYTHON_SUM = """
data = bytearray(96 << 20)
for i in range(0, len(data), 4096):
    data[i] = i >> 12 & 255
print(sum(data[i] for i in range(0, len(data), 4096)))
"""
PYTHON_SUMMED = f"{sum(i & 255 for i in range(96 << 8))}\n"
