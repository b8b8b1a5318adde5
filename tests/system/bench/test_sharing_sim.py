# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulation of shared storage caches as an experiment: cells, figures, and sentences."""

import json
import sys

import pytest

from places import ROOT


def simulate(tools, output, *options, build=None):
    return tools.run(sys.executable, ROOT / "bench", "sharing_sim", "--build", build or tools.build, "--output", output, *options)


def test_cells_and_figures(tools, tmp_path):
    done = simulate(tools, tmp_path / "out", "--quick", "--processors", "3")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "out" / "sharing-sim.json").read_text())
    assert {(c["scheme"], c["processors"]) for c in document["cells"]} == {
        (scheme, p) for scheme in ("none", "independent", "adaptive", "live") for p in (1, 2, 3)}
    assert {c["program"] for c in document["cells"]} == {"HF", "3D-vis", "Cholesky", "Mgrid"}
    assert all(c["misses"] + c["prefetches"] == c["disk_reads"] for c in document["cells"])
    figures = {"sharing-sim-2.svg", "sharing-sim-3a.svg", "sharing-sim-3b.svg", "sharing-sim-13a.svg", "sharing-sim-13a-live.svg"}
    assert {p.name for p in (tmp_path / "out").glob("*.svg")} == figures
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    assert simulate(tools, tmp_path / "out", "--quick", "--processors", "3").returncode == 0
    assert before == {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}, "the same again"


def test_what_is_missing_or_wrong_is_a_sentence(tools, tmp_path):
    done = simulate(tools, tmp_path, build=tmp_path)
    assert done.returncode == 2 and "run make build" in done.stderr
    done = simulate(tools, tmp_path, "--processors", "0")
    assert done.returncode == 2 and "--processors" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(("text", "sentence"), [
    (None, "cannot be read"), ("{", "is no profile"), ('{"members": [], "data_sets": []}', "has no entries; pagecast profile --entries"),
    ('{"members": [], "data_sets": [], "entries": []}', "touched nothing"),
    ('{"members": [1], "data_sets": [], "entries": [{"member": 1, "phase": 0, "begin": 0, "end": 1}]}', "is no profile")])
def test_a_run_that_is_none_is_a_sentence(tools, tmp_path, text, sentence):
    if text is not None:
        (tmp_path / "p.json").write_text(text)
    done = tools.run(tools.build / "bin" / "pagecast-sharing-sim", "--run", tmp_path / "p.json")
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr
