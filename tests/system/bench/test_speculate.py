# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make speculate` in pieces: runs of the same cell come together, and its tables are made from what the runs have left."""

import json
import sys
from argparse import Namespace

import pytest

from places import ROOT

sys.path.insert(0, str(ROOT / "bench"))
from experiments import speculate  # noqa: E402
from experiments.slow_storage.table import speculate_markdown  # noqa: E402

ASKED = {"requests": 10, "bytes": 1000, "by": {"pagecast-tip": {"requests": 9, "bytes": 900}}}
STATISTICS = {"copies": {"made": 1, "ended": {"finished": 1, "astray": 0}, "reads": 5, "hinted": 4, "page_faults": 7, "dilation": 1.5},
              "controller": {"seconds": 0.01, "bytes": 4000000}, "original": {"stopped_ns": 300000, "waits_hinted": 3, "waits_missed": 1},
              "prefetch": {k: 2 for k in ("hints", "named", "done", "begun", "in_memory", "late", "cancelled", "failed", "depth")}}
ACCOUNT = {"reads": 205, "reads_own": 5, "reads_hinted": 190, "blocks": 410, "blocks_own": 10, "blocks_hinted": 388, "bytes": 1000, "bytes_hinted": 999, "blocks_in_error": 4,
           "prefetched_fully": 380, "prefetched_partly": 19, "prefetched_unused": 1, "reused": 3}


def run(seconds: float, output: str = "x", **more) -> dict:
    return {"seconds": seconds, "processor": 0.1, "page_faults": 100, "output": output, "asked": ASKED, **more}


def cell(seconds: float, **runs) -> dict:
    return {"program": "search", "storage": "slow-4x15", "quick": False,
            "runs": {"plain": [run(4 * seconds)], "speculating": [run(seconds, statistics=STATISTICS)], **runs}}


def test_runs_of_pieces_come_together():
    accounted = [run(9, statistics={**STATISTICS, "account": ACCOUNT})]
    both = speculate.joined(cell(2), [cell(1, accounted=accounted), {**cell(5), "storage": "disk"}, {**cell(6), "quick": True}])
    assert [r["seconds"] for r in both["runs"]["speculating"]] == [1, 2]
    assert both["runs"]["accounted"] == accounted
    with pytest.raises(RuntimeError, match="outputs differ"):
        speculate.joined(cell(2), [cell(1, speculating=[run(1, "y")])])


def test_cells_of_other_storage_stay(tmp_path):
    options = Namespace(files=1, objects=1, slices=1, edge=1)
    file = tmp_path / "s.json"
    assert speculate.cells_in(file) == []
    speculate.write_json(file, [cell(1), {**cell(2), "storage": "disk"}], options)
    speculate.write_json(file, [cell(3)], options)
    assert {(c["storage"], c["runs"]["speculating"][0]["seconds"]) for c in json.loads(file.read_text())["cells"]} == {("slow-4x15", 3), ("disk", 2)}


def test_each_contender_comes_first_and_after_different_ones():
    orders = [speculate.order_of(["a", "b", "c"], turn) for turn in range(6)]
    assert [order[0] for order in orders[:3]] == ["a", "b", "c"] and all(sorted(order) == ["a", "b", "c"] for order in orders)
    assert {order[order.index("b") - 1] for order in orders if order[0] != "b"} == {"a", "c"}
    assert speculate.order_of([], 1) == []


def test_the_disk_has_a_plain_run_beside_the_plain_one():
    assert "again" in speculate.contenders_of(speculate.PROGRAMS["tar"], "disk")
    assert "again" not in speculate.contenders_of(speculate.PROGRAMS["tar"], "slow-4x15")
    text = speculate_markdown({"machine": {"commit": "c" * 40, "kernel": "6", "processors": 2, "files": 1, "objects": 2, "slices": 3, "edge": 4},
                               "cells": [{**cell(1, again=[run(4.1)]), "storage": "disk"}]})
    assert "4.100 (-2%)" in text


def test_the_tables_have_what_the_papers_have():
    machine = {"commit": "c" * 40, "kernel": "6", "processors": 2, "files": 1, "objects": 2, "slices": 3, "edge": 4}
    counted = cell(1, accounted=[run(9, statistics={**STATISTICS, "account": ACCOUNT})])
    counted["runs"]["speculating"][0]["page_faults"] = 130
    text = speculate_markdown({"machine": machine, "cells": [counted]})
    assert "| search | slow-4x15 | 4.000 | 1.000 (75%) |" in text
    assert "| search | slow-4x15 | 200 | 95.0% | 400 | 97.0% | 99.9% | 1.0% | 400 | 95.0% | 4.8% | 0.2% | 3 | 5 |" in text
    assert "| search | slow-4x15 | 0.010 s | 4.0 MB | 1 | 1 finished | 7 | 30 | 0.30 ms |" in text
