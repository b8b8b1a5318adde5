# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What releases are worth: the table from canned samples, and a small run. Nothing is timed."""

import json
import sys

import pytest

from places import ROOT
from continuing import assert_refused, continue_without

MIB = 1 << 20
HARNESS = (ROOT / "bench", "releases")


def sample(wall, read=0, vector=0, missed=0, status="ok", output="a"):
    stats = {"io": {"read_bytes": read, "written_bytes": read // 2}, "faults": {"not_prefetched": missed},
             "sites": [{"name": "a", "prefetched": 999}, {"name": "b", "prefetched": vector}, {"name": "b", "prefetched": 0}]}
    return {"wall_s": wall, "status": status, "output_sha256": output, "stats": stats}


def entry(name="matvec", none=None, aggressive=None, buffered=None, vector=None):
    return {"name": name, "multiple": 2.0, "data_bytes": 2 << 30, "vector": vector,
            "samples": {"none": none or [], "aggressive": aggressive or [], "buffered": buffered or []}}


def result(*entries, one=None, two=None, **changes):
    return {"version": 1, "kind": "releases", "machine": {"architecture": "x", "processors": 2, "model": "Some CPU", "memory_bytes": 8 << 30},
            "kernel": "6.1", "commit": "abc", "command": [], "limit_bytes": 256 * MIB, "runs": 3, "policies": ["none", "aggressive", "buffered"],
            "unavailable": None, "complete": True, "disk_samples": [], "programs": list(entries),
            "second_sweep": {"data_bytes": 512 * MIB, "samples": {"one": one or [], "two": two or []}}, **changes}


def test_quick_is_small():
    from experiments.releases import parse_arguments
    options = parse_arguments(["--quick"])
    assert (options.limit_bytes, options.runs, len(options.chosen)) == (64 * MIB, 1, 9)


def test_table_by_hand():
    from experiments.releases_table import releases_markdown
    matvec = entry(none=[sample(2.4, 3 << 30)], aggressive=[sample(3, 4 << 30, vector=900)],
                   buffered=[sample(2, 2 << 30, vector=80, missed=10), sample(1, 2 << 30, vector=80, missed=10), sample(9, 2 << 30, vector=80, missed=10)],
                   vector={"site": "b", "bytes": 4096 * 1000})
    text = releases_markdown(result(matvec, entry("buk", none=[sample(0.97)], buffered=[sample(1)])))
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")][2:]
    assert rows[0] == ["matvec, 2 × limit", "2.40 (2.40–2.40)", "3.00 (3.00–3.00)", "2.00 (1.00–9.00)", "1.20", "1.50", "3.00 + 1.50", "4.00 + 2.00",
                       "2.00 + 1.00", "yes"]
    assert rows[1][4] == "**0.97**" and rows[1][2] == "-"
    assert "than prefetching alone: matvec (1 of 2); more than 2 % slower: buk." in text, "too few to judge"
    all_nine = [entry(str(i), none=[sample(1.2 if i < 5 else 1)], buffered=[sample(1)]) for i in range(9)]
    assert "(5 of 9; ≥ 4: met)" in releases_markdown(result(*all_nine))
    assert "91.0 % of its reads avoided (≥ 90 %: met)" in text and "MATVEC, buffered over at once: 1.50 (≥ 1.25: met)." in text


@pytest.mark.parametrize("two, said", [(512 + 300, "reads 59 % of the data (< 60 %: met)"), (512 + 310, "reads 61 % of the data (< 60 %: **missed**)")])
def test_second_sweep(two, said):
    from experiments.releases_table import releases_markdown
    text = releases_markdown(result(one=[sample(1, 512 * MIB)], two=[sample(2, two * MIB)]))
    assert said in text


@pytest.mark.few
def test_a_small_run(built, disk_dir, memory_group):
    memory_group(32 * MIB)
    out = disk_dir / "out.json"
    done = built.run(sys.executable, *HARNESS, "--build", built.build, "--work", disk_dir / "work", "--json", out, "--limit", "96M",
                     "--programs", "matvec:2", "--runs", 1, timeout=600)
    assert done.returncode == 0, done.stderr
    data = json.loads(out.read_text())
    [matvec] = data["programs"]
    assert data["complete"] and all(len(s) == 1 and s[0]["stats"]["active"] for s in matvec["samples"].values())
    assert {site["name"] for site in matvec["samples"]["buffered"][0]["stats"]["sites"]} >= {"a", "b"}, "the vector has its site"
    assert matvec["vector"]["bytes"] == 192 * MIB // 4_000_000 * 3 * 4_000_000
    one, two = (data["second_sweep"]["samples"][k][0]["stats"]["io"]["read_bytes"] for k in ("one", "two"))
    # All of it, if nothing stayed; about 0.59 under so low a limit.
    assert 0 < two - one < 0.7 * data["second_sweep"]["data_bytes"], "a prefix stays in memory from sweep to sweep"
    assert "MATVEC's vector, buffered:" in done.stdout and "A second sweep over 2 × the limit" in done.stdout
    again = built.run(sys.executable, *HARNESS, "--table", out)
    assert again.returncode == 0 and again.stdout == done.stdout

    def lose(data):
        for samples in (data["programs"][0]["samples"]["aggressive"], *data["second_sweep"]["samples"].values()):
            samples.clear()

    before, after, steps = continue_without(built, HARNESS, out, lose)
    assert steps == [f"{words}, run 1 of 1" for words in ("measuring the disk", "matvec: releases at once", "a second sweep")]
    assert [len(s) for s in after["second_sweep"]["samples"].values()] == [1, 1]
    before["programs"][0]["samples"]["aggressive"] = after["programs"][0]["samples"]["aggressive"]
    assert after["programs"] == before["programs"] and len(after["programs"][0]["samples"]["aggressive"]) == 1


@pytest.mark.parametrize("words, said", [
    (["--programs", "bukk"], "there is no program 'bukk'"),
    (["--policies", "lazy"], "there is no 'lazy'; there are none, aggressive, buffered"),
    (["--runs", "0"], "at least one run is needed"),
    (["--table", "/nowhere/releases.json"], "cannot be read"),
])
def test_bad_input_is_answered_with_a_sentence(tools, words, said):
    assert_refused(tools, HARNESS, "releases", words, said)
