# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The field's programs agree with each other, and its harness makes its table. Nothing is timed."""

import json
import os
import sys

import pytest

from places import ROOT
from continuing import assert_refused, continue_without

MIB = 1 << 20
HARNESS = (ROOT / "bench", "field")
PROGRAMS = ROOT / "apps" / "field"


@pytest.fixture(scope="module")
def programs(built, tmp_path_factory):
    """A function: name and kind (plain, byhand, pagecast) to executable."""
    from harness.building import Source, compile_once
    into = tmp_path_factory.mktemp("field")

    def executable(name, kind):
        out = into / f"{name}-{kind}"
        if not out.exists():
            source = PROGRAMS / "byhand" / f"{name}.c" if kind == "byhand" else PROGRAMS / f"{name}.c"
            compile_once(Source(name, source, ("-luring",) if kind == "byhand" else ()), "pagecast" if kind == "pagecast" else "plain",
                         built.build, out)
        return out
    return executable


def agree(built, programs, disk_dir, name, kind, size, *options, memory=None, share=1):
    """The outputs on heap data, on a mapped file and by hand are the same."""
    rounded = (size // share + 4095) // 4096 * 4096

    def data():
        files = ["--file", disk_dir / "data"]
        assert built.run(programs("generate", "plain"), *files, "--kind", kind, "--bytes", rounded).returncode == 0
        if share > 1:
            files += ["--output", disk_dir / "output"]
            assert built.run(programs("generate", "plain"), "--file", files[-1], "--kind", "zeros", "--bytes", rounded).returncode == 0
        return files

    def run(kind, *more):
        done = built.run(programs(name, kind), "--memory-size", size, *options, *more)
        assert done.returncode == 0, done.stderr
        return done.stdout
    expected = run("plain")
    assert run("plain", *data()) == expected
    assert run("byhand", *data(), *(["--memory", memory] if memory else [])) == expected
    return expected


@pytest.mark.parametrize("size", (8 * MIB, 3 * MIB + 4096, 4096))
def test_sum_and_update_agree(built, programs, disk_dir, size):
    assert f"words: {size // 8}" in agree(built, programs, disk_dir, "sum", "words", size)
    assert "verification: passed" in agree(built, programs, disk_dir, "update", "words", size)


@pytest.mark.parametrize("hot", (0, 900))
@pytest.mark.parametrize("memory", ("1M", "64M"))
def test_gathers_agree(built, programs, disk_dir, hot, memory):
    agree(built, programs, disk_dir, "gather", "words", 12 * MIB, "--count", 30000, "--hot", hot, memory=memory)


@pytest.mark.parametrize("memory", ("1M", "36M", "64M"))
def test_products_agree(built, programs, disk_dir, memory):
    agree(built, programs, disk_dir, "multiply", "entries", 12 * MIB, "--cols", 100_000, memory=memory)


@pytest.mark.parametrize("size, memory", ((24 * MIB, "1M"), (24 * MIB, "80M"), (5_000_008, "80M"), (40_008, "64M"), (1024, "64M")))
def test_scatters_agree(built, programs, disk_dir, size, memory):
    """Also where buckets are smaller than pages, and where some have no key."""
    agree(built, programs, disk_dir, "scatter", "keys", size, memory=memory, share=2)


@pytest.mark.few
def test_slices_run_no_further_ahead_than_memory_holds(built, programs, disk_dir):
    """Scattered references, and an index array that is a region itself: what is asked for stays until its turn."""
    stats = disk_dir / "stats.json"
    done = built.run(built.pagecast, "run", "--memory", "32M", "--backing", disk_dir, "--stats", stats, "--", programs("gather", "pagecast"),
                     "--memory-size", "128M", "--count", 150_000)
    plain = built.run(programs("gather", "plain"), "--memory-size", "128M", "--count", 150_000)
    assert done.returncode == 0 and done.stdout == plain.stdout, done.stderr
    ran = json.loads(stats.read_text())
    if not ran["active"]:
        pytest.skip(ran["why_not"])
    fetched = ran["hints"]["prefetched_pages"]
    assert fetched > 50_000
    assert ran["hints"]["unused_pages"] < fetched / 20
    assert ran["faults"]["not_prefetched"] < fetched / 4


def test_a_file_that_is_too_short_is_refused(built, programs, disk_dir):
    (disk_dir / "data").write_bytes(b"x" * 4096)
    for kind in ("plain", "byhand"):
        done = built.run(programs("sum", kind), "--memory-size", "1M", "--file", disk_dir / "data")
        assert done.returncode == 2 and "shorter than the size" in done.stderr


# Tables.


def sample(seconds, status="ok", output="a", wall=9.0):
    return {"wall_s": wall, "user_s": 1, "system_s": 1, "status": status, "first_thread_cpu_s": 1, "peak_bytes": 1, "output_sha256": output,
            "stats": None, "pass_s": seconds if status == "ok" else None, "phases": {}, "errors": ""}


def result(**samples):
    from experiments.field_table import CONTENDERS
    return {"version": 1, "kind": "field", "machine": {"architecture": "x", "processors": 2, "model": "Some CPU", "memory_bytes": 8 << 30},
            "kernel": "6.1", "commit": "abc", "command": [], "limit_bytes": 256 * MIB, "data_bytes": 1024 * MIB, "gathers": 7, "runs": 3,
            "contenders": list(CONTENDERS), "unavailable": {}, "other_swap": False, "complete": True, "disk_samples": [],
            "workloads": [{"name": "sum", "words": "sequential sum", "samples": {c: samples.get(c, []) for c in CONTENDERS}}]}


def row(text, name):
    return next(line for line in text.splitlines() if line.startswith(f"| {name} |")).split("|")[2].strip()


def test_table_by_hand():
    from experiments.field_table import field_markdown
    text = field_markdown(result(byhand=[sample(2), sample(1), sample(4)], heap=[sample(3)], mapped=[sample(2.2)], mmap=[sample(2.1)],
                                 swap=[sample(0, "timeout", wall=300)]))
    assert row(text, "by hand: direct I/O, io_uring") == "2.00 (1.00–4.00)"
    assert row(text, "pagecast, heap") == "3.00 (3.00–3.00); **1.50**"
    assert row(text, "pagecast, mapped file") == "2.20 (2.20–2.20); 1.10"
    assert row(text, "Linux swap") == "≥ 300"
    assert "pagecast, heap: within 1.25 times of by hand: 0 of 1; missed by sequential sum." in text
    assert "pagecast, mapped file: within 1.25 times of by hand: 1 of 1." in text
    assert "pagecast, mapped file: slower than mmap, default advice: sequential sum." in text
    assert "pagecast, heap: slower" not in text, "what was given up is slower"


def test_troubles_are_said():
    from experiments.field_table import field_markdown
    text = field_markdown({**result(byhand=[sample(2)], heap=[sample(1, output="b")], swap=[sample(1, "killed")]), "complete": False,
                           "unavailable": {"mmap": "no root"}})
    for words in ("NOT every output", "Linux swap ended with killed", "interrupted", "Not measured: mmap, default advice: no root."):
        assert words in text


def test_phases_are_read():
    from harness.experiment import phases
    assert phases("sum: data          0.250 s\nnoise\nsum: pass         12.500 s\n") == {"data": 0.25, "pass": 12.5}


# The command.


def test_a_small_field(built, disk_dir, memory_group):
    memory_group(32 * MIB)
    out = disk_dir / "out.json"
    done = built.run(sys.executable, *HARNESS, "--build", built.build, "--work", disk_dir / "work", "--json", out, "--limit", "48M", "--data", "64M",
                     "--gathers", 2000, "--runs", 1, "--contenders", "byhand,heap,mapped", timeout=600)
    assert done.returncode == 0, done.stderr
    data = json.loads(out.read_text())
    assert data["complete"] and len(data["workloads"]) == 6 and len(data["disk_samples"]) == 1
    for workload in data["workloads"]:
        samples = [workload["samples"][c] for c in ("byhand", "heap", "mapped")]
        assert [len(s) for s in samples] == [1, 1, 1] and len({s[0]["output_sha256"] for s in samples}) == 1
        assert samples[1][0]["stats"]["active"], workload["name"]
        assert workload["words"] in done.stdout
    assert done.stdout.count("; missed by") <= 2 and "NOT every" not in done.stdout
    assert not list((disk_dir / "work").glob("data-*")), "the data are removed"
    again = built.run(sys.executable, *HARNESS, "--table", out)
    assert again.returncode == 0 and again.stdout == done.stdout

    before, after, steps = continue_without(built, HARNESS, out, lambda d: d["workloads"][2]["samples"]["mapped"].clear())
    assert steps == ["measuring the disk, run 1 of 1", "random gathers: pagecast, mapped file, run 1 of 1"]
    [new] = after["workloads"][2]["samples"]["mapped"]
    assert new["output_sha256"] == after["workloads"][2]["samples"]["heap"][0]["output_sha256"]
    before["workloads"][2]["samples"]["mapped"].append(new)
    assert after["workloads"] == before["workloads"], "all else stays"


@pytest.mark.parametrize("words, said", [
    (["--workloads", "sums"], "there is no 'sums'; there are sum, update, gather, hot, multiply, scatter"),
    (["--contenders", "umap"], "there is no 'umap'; there are byhand, heap, mapped, mmap, swap"),
    (["--runs", "0"], "at least one run is needed"),
    (["--limit", "1M"], "use 32M or more"),
    (["--data", "1M"], "use 16M or more"),
    (["--gathers", "0"], "at least one is needed"),
    (["--timeout", "-1"], "give the seconds"),
    (["--table", "/nowhere/field.json"], "/nowhere/field.json cannot be read"),
])
def test_bad_input_is_answered_with_a_sentence(tools, words, said):
    assert_refused(tools, HARNESS, "field", words, said)


def test_without_root_it_says_so(tools, tmp_path, monkeypatch):
    from experiments import field
    from harness.report import Screen
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    measured = field.Field(field.parse_arguments(["--work", str(tmp_path), "--json", str(tmp_path / "x.json")]), Screen(sys.stderr))
    measured.measure()
    assert "need root" in measured.unavailable["heap"] and not measured.complete
