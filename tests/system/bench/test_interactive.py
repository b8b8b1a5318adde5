# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interactive task, and its harness: table and figures from canned samples, and a small run. Nothing is timed."""

import json
import sys

import pytest

from places import ROOT
from continuing import assert_refused, continue_without

MIB = 1 << 20
HARNESS = (ROOT / "bench", "interactive")


@pytest.fixture(scope="module")
def task(built, tmp_path_factory):
    from harness.building import Source, compile_once
    out = tmp_path_factory.mktemp("task") / "interactive"
    compile_once(Source("interactive", ROOT / "apps" / "interactive.c"), "plain", built.build, out)
    return out


def test_task_says_what_each_sweep_cost(built, task):
    done = built.run(task, "--memory-size", "4M", "--sleep", 1, "--sweeps", 3)
    assert done.returncode == 0
    first, *sweeps = done.stdout.splitlines()
    assert first == "ready" and len(sweeps) == 3
    for line in sweeps:
        response, major, minor = line.split()
        assert float(response) > 0 and (int(major), int(minor)) == (0, 0), "its working set stays where nobody takes it"


def response(ms, major=0):
    return {"response_us": 1000 * ms, "major": major, "minor": 0}


def run(wall, status="ok", output="a"):
    return {"wall_s": wall, "status": status, "output_sha256": output}


def point(version, sleep, walls, responses, program="matvec", **how):
    return {"program": program, "multiple": 2.0, "version": version, "sleep_s": sleep, "runs": [run(w, **how) for w in walls],
            "responses": responses}


def result(**changes):
    points = [point("buffered", None, [10.0], []), point("buffered", 5.0, [10.2, 10.4], [response(2), response(2.2, 3), response(9)]),
              point("buffered", 0.0, [20.0], [response(1)]), point("original", None, [60], []),
              point("original", 5.0, [66], [response(100, 500), response(300, 500)]), point("original", 0.0, [60], [response(1)])]
    return {"version": 1, "kind": "interactive", "machine": {"architecture": "x", "processors": 2, "model": "Some CPU", "memory_bytes": 8 << 30},
            "kernel": "6.1", "commit": "abc", "command": [], "limit_bytes": 256 * MIB, "working_set_bytes": 32 * MIB, "memory": "auto",
            "versions": ["original", "buffered", "alone"], "sleeps_s": [0.0, 5.0], "programs": ["matvec"], "unavailable": None,
            "other_swap": False, "complete": True, "points": points,
            "alone": [{"sleep_s": 0.0, "responses": [response(1)]}, {"sleep_s": 5.0, "responses": [response(2), response(2)]}], **changes}


def rows(text):
    return [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")][2:]


def test_table_by_hand():
    from experiments.interactive_table import interactive_markdown
    text = interactive_markdown(result())
    assert rows(text) == [["", "alone", "response", "1.00", "2.00"],
                          ["matvec", "original on swap", "response", "1.00; 1.00", "200; 100"],
                          ["", "", "faults", "0.00", "500"], ["", "", "speed", "1.00", "0.91"],
                          ["matvec", "buffered release", "response", "1.00; 1.00", "2.20; 1.10"],
                          ["", "", "faults", "0.00", "1.00"], ["", "", "speed", "**0.50**", "0.97"]]
    assert "Buffered, response within 1.1 of alone: 2 of 2 points." in text
    assert "beside the program in core" not in text
    beside = [point("incore", 5.0, [1.0], [response(2.1)]), point("incore", 0.0, [1.0], [response(0.5)])]
    assert "response within 1.1 of that beside the program in core: 1 of 2 points" in interactive_markdown(result(points=result()["points"] + beside))
    assert "Buffered, program keeps 95 % of its speed: 1 of 2 points." in text


def test_troubles_are_said():
    from experiments.interactive_table import interactive_markdown
    text = interactive_markdown(result(complete=False, points=[point("prefetch", 5.0, [1.0], [], status="killed")]))
    assert "matvec, prefetch only, sleep 5 s: ended with killed." in text and "interrupted" in text
    assert "Not measured: no swap." in interactive_markdown(result(unavailable="no swap", points=[]))


def test_figures_are_drawn(tmp_path):
    from experiments.interactive_plots import draw_all
    file = tmp_path / "r.json"
    file.write_text(json.dumps(result()))
    files = draw_all(file)
    assert [f.name for f in files] == ["r-a-matvec.svg", "r-b.svg", "r-c.svg"]
    before = [f.read_bytes() for f in files]
    assert all(b.startswith(b"<?xml") for b in before)
    assert [f.read_bytes() for f in draw_all(file)] == before, "the same from the same JSON"
    file.write_text(json.dumps(result(points=[])))
    assert draw_all(file) == []


@pytest.mark.alone  # what other groups put on swap meanwhile, the original lacks
def test_a_small_run(built, disk_dir, memory_group):
    from harness.swap import SwapFile
    memory_group(32 * MIB)
    with SwapFile(disk_dir / "swap", 64 * MIB, print) as swap:
        if swap.refusal:
            pytest.skip(f"no swap can be had here: {swap.refusal}")
    out = disk_dir / "out.json"
    done = built.run(sys.executable, *HARNESS, "--build", built.build, "--work", disk_dir / "work", "--json", out, "--limit", "32M",
                     "--programs", "matvec:1.2", "--versions", "original,buffered,incore,alone", "--sleeps", "0.02,0.1", "--sweeps", 2,
                     "--memory", "16M", "--working-set", "2M", timeout=600)
    assert done.returncode == 0, done.stderr
    data = json.loads(out.read_text())
    assert data["complete"] and [a["sleep_s"] for a in data["alone"]] == [0.02, 0.1]
    assert all(len(a["responses"]) >= 2 for a in data["alone"])
    assert [(p["version"], p["sleep_s"]) for p in data["points"]] == [(v, s) for s in (None, 0.02, 0.1) for v in ("original", "buffered", "incore")]
    for p in data["points"]:
        if p["version"] == "original" and (len(p["runs"]) < 3 or p["runs"][-1]["status"] == "killed"):
            continue  # the kernel kills it, or the task, where swap is not freed in time; the harness takes that for a result
        assert {r["status"] for r in p["runs"]} == {"ok"}, p
        assert len(p["runs"]) >= 3 and (len(p["responses"]) >= 2) == (p["sleep_s"] is not None), p
    assert len({r["output_sha256"] for p in data["points"] for r in p["runs"] if r["status"] == "ok"}) == 1
    assert sorted(f.name for f in disk_dir.glob("*.svg")) == ["out-a-matvec.svg", "out-b.svg", "out-c.svg"]
    again = built.run(sys.executable, *HARNESS, "--table", out)
    assert again.returncode == 0 and again.stdout == done.stdout

    before, after, steps = continue_without(built, HARNESS, out, lambda d: (d["alone"].pop(), d["points"].pop(1)))
    assert steps == ["the task alone, sleep 0.1 s, run 1 of 1", "matvec: buffered release, without the task, run 1 of 1"]
    assert after["alone"][:-1] == before["alone"] and after["alone"][-1]["sleep_s"] == 0.1
    assert after["points"][:-1] == before["points"] and (after["points"][-1]["version"], after["points"][-1]["sleep_s"]) == ("buffered", None)


@pytest.mark.parametrize("words, said", [
    (["--programs", "bukk"], "there is no program 'bukk'"),
    (["--versions", "eager"], "there is no 'eager'; there are original, prefetch, aggressive, buffered, incore, alone"),
    (["--sleeps", "1,soon"], "'soon' is not a number of seconds"),
    (["--sweeps", "0"], "at least one is needed"),
    (["--limit", "64M", "--working-set", "60M"], "more than half of the limit"),
    (["--table", "/nowhere/interactive.json"], "cannot be read"),
])
def test_bad_input_is_answered_with_a_sentence(tools, words, said):
    assert_refused(tools, HARNESS, "interactive", words, said)
