# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make sharing, on data of a megabyte: its cells, what it says, and that nothing is left behind."""

import argparse
import json
import shutil
import sys

import pytest

from places import ROOT

sys.path.insert(0, str(ROOT / "bench"))
from experiments import sharing  # noqa: E402


def measure(tools, place, *options):
    return tools.run(sys.executable, ROOT / "bench", "sharing", "--build", tools.build, "--work", place / "work", "--json", place / "sharing.json", *options)


def test_cells_are_added_to_those_that_are_there(tools, tmp_path):
    if not shutil.which("mpirun.mpich") or not shutil.which("nbdkit"):
        pytest.skip("MPICH and nbdkit are needed; apt install mpich libmpich-dev nbdkit")
    earlier = {"program": "vis", "scheme": "none", "ranks": 7, "cache": "8M", "block": "256K", "latency": 10, "size": "320M", "expected": "", "runs": []}
    (tmp_path / "sharing.json").write_text(json.dumps({"cells": [earlier]}))
    done = measure(tools, tmp_path, "--size", "1M", "--cache", "16K", "--block", "4K", "--latency", "0", "--runs", "1", "--only", "hf,none,independent,adaptive",
                   "--ranks", "2")
    assert done.returncode == 0 and "| hf | independent | 2 |" in done.stdout, done.stderr
    cells = json.loads((tmp_path / "sharing.json").read_text())["cells"]
    assert [(c["scheme"], c["ranks"]) for c in cells] == [("none", 7), ("none", 2), ("independent", 2), ("adaptive", 2)]
    assert all(r["is_right"] and r["checksum"] == c["expected"] for c in cells for r in c["runs"])
    assert all(r["disk"]["bytes"] >= 200 << 12 for c in cells for r in c["runs"]), "all integrals came from the node"
    # The loop over HF's iterations is a nest of its own, whose slice goes through small tables: the integrals are not left to it. How many
    # of them are asked for ahead depends on the machine: not those that a rank has passed, or its pager has read, before its turn to ask. But when
    # a rank waits for its first integrals, the pager's turn asks for the next interval, which has 4 blocks.
    asked = cells[2]["runs"][0]["counts"]
    assert sum(asked[k] for k in ("prefetches", "duplicate", "dropped", "refused")) >= 2 * 4
    # The simulation of the same run: without a scheme, each page is asked for once, and every rank reads the same of the core's.
    none, foretold = cells[1]["runs"][0], cells[1]["simulated"]
    references = {k: v["hits"] + v["late"] + v["misses"] for k, v in (("measured", none["counts"]), ("simulated", foretold))}
    assert abs(references["simulated"] - references["measured"]) <= 0.05 * references["measured"], references
    assert abs(foretold["disk_bytes"] - none["disk"]["bytes"]) <= 0.05 * none["disk"]["bytes"]
    assert all(sum(c["simulated"][k] for k in ("prefetches", "duplicate", "dropped")) > 100 for c in cells[2:])
    assert (tmp_path / "sharing-schemes.svg").exists() and not (tmp_path / "work").exists()


def test_an_interruption_loses_one_run_and_others_are_not_made_again(tmp_path):
    options = argparse.Namespace(json=tmp_path / "sharing.json", build=tmp_path, goes_on=False)
    cell = {"program": "hf", "scheme": "live", "ranks": 8, "cache": "4M", "block": "32K", "latency": 1, "size": "160M", "expected": "f00d"}
    other = {**cell, "scheme": "none"}
    first = sharing.Results(options)
    for one in (cell, other):
        first.add(first.cell_for(one), {"wall_s": 1.0})
    kept = {c["scheme"]: c["runs"] for c in json.loads(options.json.read_text())["cells"]}
    assert kept == {"live": [{"wall_s": 1.0}], "none": [{"wall_s": 1.0}]}
    options.goes_on = True
    second = sharing.Results(options)
    assert second.cell_for(cell)["runs"] == [{"wall_s": 1.0}]
    assert second.cell_for({**cell, "expected": "beef"})["runs"] == [], "of another data set"
    second.build_sha256 = "another"
    assert second.cell_for(cell)["runs"] == []
    options.goes_on = False
    assert sharing.Results(options).cell_for(cell)["runs"] == []


@pytest.mark.parametrize(("options", "sentence"), [
    (["--cache", "64M"], "--cache 64M: data of 160M are less than 40 times that"), (["--only", "gauss"], "--only: there is no 'gauss'"),
    (["--ranks", "0"], "at least 1"), (["--size", "big"], "'big' is not a size")])
def test_bad_input_is_a_sentence(tools, tmp_path, options, sentence):
    done = measure(tools, tmp_path, *options)
    assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr, done.stderr
