# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cliff's programs say the same however they are compiled, and its harness makes its table. Nothing is timed."""

import json
import sys

from places import ROOT

MIB = 1 << 20


def sample(seconds, status="ok", output="a", read=0):
    return {"wall_s": seconds, "user_s": 1, "system_s": 1, "status": status, "first_thread_cpu_s": 1, "peak_bytes": 1, "output_sha256": output,
            "stats": {"io": {"read_bytes": read * 1_000_000}}, "errors": ""}


def result(*points, core=1.0):
    points = [{"factor": f, "limit_bytes": int(100 * f) * MIB, "samples": {"pagecast": [p], "swap": [s]}} for f, p, s in points]
    entry = {"name": "hash", "words": "the hash", "data_bytes": 100 * MIB, "incore": [sample(core)], "points": points}
    return {"version": 1, "kind": "cliff", "machine": {"architecture": "x", "processors": 2, "model": "Some CPU", "memory_bytes": 8 << 30},
            "kernel": "6.1", "commit": "abc", "command": [], "limit_bytes": None, "hot_bytes": 100 * MIB, "runs": 1,
            "contenders": ["incore", "pagecast", "swap"], "unavailable": {}, "other_swap": False, "complete": True, "disk_samples": [],
            "programs": [entry]}


def test_the_table():
    from experiments.cliff_table import cliff_markdown
    text = cliff_markdown(result((1.2, sample(2), sample(2)), (1, sample(3), sample(4)), (0.5, sample(9, read=7), sample(45, "timeout"))))
    rows = [[c.strip() for c in line.split("|")[2:-1]] for line in text.splitlines() if line.startswith("| the hash |")]
    assert [r[4] for r in rows] == ["1.00", "**1.33**", "≥ 5.00"]
    assert rows[0][0] == "1.2 (120 MiB)" and rows[2][3] == "≥ 45.0" and rows[2][5] == "7"
    assert "2 of 3; not: the hash at 1." in text


def test_a_run_is_stopped_at_five_times_the_others(tmp_path):
    from experiments import cliff
    from harness.report import Screen
    measured = cliff.Cliff(cliff.parse_arguments(["--work", str(tmp_path), "--programs", "tree", "--timeout", "50"]), Screen(sys.stderr))
    point = measured.entries[0]["points"][0]
    assert point["limit_bytes"] == int(1.2 * 128 * MIB) & ~0xFFF
    assert measured.patience(point, "pagecast") == 50 and measured.patience(None, "incore") == 50
    point["samples"]["swap"] = [sample(4)]
    assert measured.patience(point, "pagecast") == 20 and measured.patience(point, "swap") == 50


def test_a_small_cliff(built, disk_dir, memory_group):
    memory_group(64 * MIB)
    out = disk_dir / "out.json"
    done = built.run(sys.executable, ROOT / "bench", "cliff", "--build", built.build, "--work", disk_dir / "work", "--json", out, "--small",
                     "--programs", "cholesky,transpose", "--factors", "1.2", "--contenders", "incore,pagecast", "--timeout", "100", timeout=400)
    data = json.loads(out.read_text())
    assert [e["name"] for e in data["programs"]] == ["cholesky", "transpose"]
    for entry in data["programs"]:
        samples = [*entry["incore"], *(s for p in entry["points"] for s in p["samples"]["pagecast"])]
        assert len(samples) == 2 and {s["status"] for s in samples} == {"ok"}, entry["name"]
        assert len({s["output_sha256"] for s in samples}) == 1, f"{entry['name']}: not every output is the same"
        assert out.with_name(f"out-{entry['name']}.svg").exists()
    assert "sparse Cholesky" in done.stdout
