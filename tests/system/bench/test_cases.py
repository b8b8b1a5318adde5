# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases' programs say the same however they are compiled, and their harness makes its table. Nothing is timed."""

import json
import sys

import pytest

from continuing import assert_refused, continue_without
from places import ROOT

MIB = 1 << 20
HARNESS = (ROOT / "bench", "cases")


def sample(seconds, status="ok", output="a", passed=None, read=0):
    stats = {"io": {"read_bytes": read * 1_000_000}, "faults": {"late": 2, "not_prefetched": 3}}
    return {"wall_s": seconds, "user_s": 1, "system_s": 1, "status": status, "first_thread_cpu_s": 1, "peak_bytes": 1, "output_sha256": output,
            "stats": stats, "pass_s": passed or seconds, "phases": {}, "errors": ""}


def case(name, twin=None, **samples):
    from experiments.cases_table import CONTENDERS
    return {"name": name, "words": f"the {name}", "twin": twin, "limit_bytes": 64 * MIB, "data_bytes": 100 * MIB,
            "samples": {c: samples.get(c, []) for c in CONTENDERS}}


def result(*cases):
    from experiments.cases_table import CONTENDERS
    return {"version": 1, "kind": "cases", "machine": {"architecture": "x", "processors": 2, "model": "Some CPU", "memory_bytes": 8 << 30},
            "kernel": "6.1", "commit": "abc", "command": [], "limit_bytes": None, "runs": 3, "contenders": list(CONTENDERS), "unavailable": {},
            "other_swap": False, "complete": True, "disk_samples": [], "cases": list(cases)}


def cells(text, name):
    return [c.strip() for c in next(line for line in text.splitlines() if line.startswith(f"| the {name} |")).split("|")[2:-1]]


def test_the_table():
    from experiments.cases_table import cases_markdown
    text = cases_markdown(result(
        case("old", incore=[sample(1)], pagecast=[sample(6, read=7), sample(5, read=5)], without=[sample(4, read=3)], swap=[sample(5.4)]),
        case("new", pagecast=[sample(2)], without=[sample(10, "timeout")], swap=[sample(20, "timeout")])))
    assert cells(text, "old") == ["64 MiB", "1.00 (1.00–1.00)", "5.50 (5.00–6.00)", "4.00 (4.00–4.00)", "5.40 (5.40–5.40)", "**1.38**",
                                  "**0.98**", "6 / 3", "5 / 5", "yes"]
    assert cells(text, "new")[3:7] == ["≥ 10.0", "≥ 20.0", "0.20", "≥ 10.00"]
    assert "At most 1.1 times as long with slices: 1 of 2; missed by the old." in text
    assert "Slower than on swap: the old." in text


def test_twins_are_compared_by_their_passes():
    from experiments.cases_table import cases_markdown
    text = cases_markdown(result(case("one", twin="two", pagecast=[sample(5, passed=3)]), case("two", pagecast=[sample(5, passed=2)])))
    assert 'The pass of "the one" takes **1.50** times that of "the two".' in text
    assert "The pass of" not in cases_markdown(result(case("one", twin="two", pagecast=[sample(5)])))


def test_troubles_are_said():
    from experiments.cases_table import cases_markdown
    text = cases_markdown(result(case("odd", pagecast=[sample(1), sample(1, output="b")], without=[sample(1, "killed")])))
    assert "the odd: NOT every output is the same." in text and "pagecast, no slices ended with killed." in text


def test_a_run_is_stopped_at_five_times_the_best_of_its_rivals(tmp_path):
    from experiments import cases
    from harness.report import Screen
    measured = cases.Cases(cases.parse_arguments(["--work", str(tmp_path), "--programs", "gates", "--timeout", "90"]), Screen(sys.stderr))
    entry = case("gates", incore=[sample(0.1)])
    assert measured.patience(entry, "pagecast") == 90, "what is in core is no rival"
    entry["samples"]["without"] = [sample(4), sample(3)]
    assert measured.patience(entry, "pagecast") == 15 and measured.patience(entry, "without") == 90
    entry["samples"]["swap"] = [sample(0.1)]
    assert measured.patience(entry, "pagecast") == 2, "short runs vary"


def test_small_cases(built, disk_dir, memory_group):
    memory_group(64 * MIB)
    out = disk_dir / "out.json"
    done = built.run(sys.executable, *HARNESS, "--build", built.build, "--work", disk_dir / "work", "--json", out, "--small",
                     "--programs", "histograms-few,gates,gates-nest,buckets,records,mirrored,ranks,triangles,rounds", "--contenders", "incore,pagecast", timeout=600)
    assert done.returncode == 0, done.stderr
    data = json.loads(out.read_text())
    assert data["complete"] and len(data["cases"]) == 9
    for entry in data["cases"]:
        samples = [entry["samples"][c] for c in ("incore", "pagecast")]
        assert [len(s) for s in samples] == [1, 1] and len({s[0]["output_sha256"] for s in samples}) == 1, entry["name"]
        assert samples[1][0]["stats"]["active"], entry["name"]
        assert entry["words"] in done.stdout
    sites = {e["name"]: e["samples"]["pagecast"][0]["stats"]["sites"] for e in data["cases"]}
    assert sum(s["released"] for s in sites["ranks"] if s["name"] == "from" and s["indirect"]) > 9_000, "6,250 pages in each of four rounds"
    assert len({s["line"] for s in sites["triangles"] if s["name"] == "matrix" and s["indirect"]}) == 2, "the nest back is opened, too"
    assert sum(s["prefetched"] for s in sites["rounds"] if s["indirect"]) < 60_000, "8,400 in each of twelve rounds, where the oldest go"
    outputs = {e["name"]: e["samples"]["incore"][0]["output_sha256"] for e in data["cases"]}
    assert outputs["gates"] == outputs["gates-nest"], "twins do the same"
    again = built.run(sys.executable, *HARNESS, "--table", out)
    assert again.returncode == 0 and again.stdout == done.stdout
    _, _, steps = continue_without(built, HARNESS, out, lambda d: d["cases"][2]["samples"]["pagecast"].clear())
    assert steps == ["measuring the disk, run 1 of 1", "the same gates as a nest: pagecast, run 1 of 1"]


@pytest.mark.parametrize("words, said", [
    (["--programs", "sums"], "there is no 'sums'; there are histograms, histograms-few, gates"),
    (["--contenders", "mmap"], "there is no 'mmap'; there are incore, pagecast, without, swap"),
    (["--runs", "0"], "at least one run is needed"),
    (["--timeout", "-1"], "give the seconds"),
    (["--table", "/nowhere/cases.json"], "/nowhere/cases.json cannot be read"),
])
def test_bad_input_is_answered_with_a_sentence(tools, words, said):
    assert_refused(tools, HARNESS, "cases", words, said)
