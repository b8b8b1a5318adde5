# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The harness of the nine programs: least I/O, figures and tables from canned samples, what it refuses. Nothing is timed."""

import json
import os
import random
import re
import sys

import pytest

from continuing import assert_refused
from places import ROOT

MIB = 1 << 20
NINE = (ROOT / "bench", "nine")


# Least I/O.


def test_least_io_by_hand():
    from harness.least_io import Work, sweep
    moved = Work([sweep("", "a"), sweep("a"), sweep("a")], {"a": 100}).least(30)
    assert (moved.read, moved.written) == (140, 70)
    moved = Work([sweep("", "a"), sweep("a", "a"), sweep("a", "a")], {"a": 100}).least(30)
    assert (moved.read, moved.written) == (140, 140), "what the last sweep stores is not read"
    moved = Work([sweep("", "a"), sweep("", "b"), sweep("a b")], {"a": 20, "b": 20}).least(30)
    assert (moved.read, moved.written) == (10, 10), "each fits, both together do not"
    moved = Work([sweep("", "a"), sweep("", "a"), sweep("b")], {"a": 100, "b": 100}, cold=7).least(30)
    assert (moved.read, moved.written) == (7, 0), "nothing is wanted again, and untouched memory is not read"


def swap_io(sweeps, sizes, memory, victim):
    """Page by page, a system that replaces the page that `victim` chooses, and writes only what will be read."""
    accesses = [(a, i, a in s.reads, a in s.writes) for s in sweeps for i in range(max(sizes.values()))
                for a in sorted(s.reads | s.writes) if i < sizes[a]]
    future = {}  # page: its accesses to come, last first
    for at in reversed(range(len(accesses))):
        future.setdefault(accesses[at][:2], []).append(at)
    resident, dirty, defined, read, written = {}, set(), set(), 0, 0
    for at, (array, index, is_read, is_written) in enumerate(accesses):
        page = (array, index)
        future[page].pop()
        if page not in resident:
            read += is_read and page in defined
            if len(resident) == memory:
                gone = victim(resident, future)
                del resident[gone]
                if gone in dirty and future[gone] and accesses[future[gone][-1]][2]:
                    written += 1
                dirty.discard(gone)
        resident[page] = at
        if is_written:
            dirty.add(page)
            defined.add(page)
    return read, written


def oldest(resident, _):
    return min(resident, key=resident.get)


def latest_wanted(resident, future):
    return max(resident, key=lambda p: (future[p][-1] if future[p] else 1 << 30, p))


@pytest.mark.parametrize("seed", range(40))
def test_no_system_does_better(seed):
    from harness.least_io import Sweep, Work
    draw = random.Random(seed)
    sizes = {a: draw.randint(1, 14) for a in "abcd"}
    some = lambda: frozenset(a for a in sizes if draw.random() < 0.45)  # noqa: E731
    sweeps = [Sweep(frozenset(), frozenset(sizes))] + [Sweep(some(), some()) for _ in range(draw.randint(2, 9))]
    memory = draw.randint(4, 24)  # a sweep's current page of each array must fit
    bound = Work(sweeps, sizes).least(memory)
    for victim in (oldest, latest_wanted):
        read, written = swap_io(sweeps, sizes, memory, victim)
        assert read >= bound.read and written >= bound.written


def test_bound_is_reached_by_an_optimal_system():
    from harness.least_io import Work, sweep
    sweeps = [sweep("", "a")] + 3 * [sweep("a")]
    bound = Work(sweeps, {"a": 40}).least(10)
    read, _ = swap_io(sweeps, {"a": 40}, 10, latest_wanted)
    assert bound.read <= read <= 1.1 * bound.read


def test_foresight_by_hand():
    from experiments.foresight import foreseen
    from harness.least_io import Work, sweep
    swept = Work([sweep("", "a"), sweep("a"), sweep("a")], {"a": 10})
    moved, with_proofs = foreseen(swept, 4, lot=1), foreseen(swept, 4, lot=1, knows_dead=True)
    assert (moved.read, moved.written) == (12, 10), "each sweep finds four; all that was stored goes at some time"
    assert (with_proofs.read, with_proofs.written) == (12, 6), "what the last sweep has passed is dead"
    stored_over = Work([sweep("", "a"), sweep("a"), sweep("", "a"), sweep("a")], {"a": 10})
    assert foreseen(stored_over, 4, lot=1).written == 16 and foreseen(stored_over, 4, lot=1, knows_dead=True).written == 12


@pytest.mark.parametrize("seed", range(20))
def test_foresight_moves_no_less_than_the_least(seed):
    from experiments.foresight import foreseen
    from harness.least_io import Sweep, Work
    draw = random.Random(seed)
    sizes = {a: draw.randint(1, 14) for a in "abcd"}
    some = lambda: frozenset(a for a in sizes if draw.random() < 0.45)  # noqa: E731
    work = Work([Sweep(frozenset(), frozenset(sizes))] + [Sweep(some(), some()) for _ in range(draw.randint(2, 9))], sizes)
    memory = draw.randint(4, 24)
    bound, with_proofs, without = work.least(memory), foreseen(work, memory, 1, knows_dead=True), foreseen(work, memory, 1)
    assert bound.read <= with_proofs.read == without.read
    assert bound.written <= with_proofs.written <= without.written


@pytest.mark.parametrize("name, pattern, points", [
    ("cgm", r"matrix: (\d+) rows", lambda t, n: t.cgm_rows(n)),
    ("mgrid", r"grid: (\d+) x (\d+) x (\d+)", lambda t, n: t.mgrid_levels(*t.mgrid_fit(n))[0]),
    ("fftpde", r"box: (\d+) x (\d+) x (\d+)", lambda t, n: t.fftpde_points(n)),
    ("applu", r"grid: (\d+) x (\d+) x (\d+)", lambda t, n: t.cube_points(n, 920)),
    ("appsp", r"grid: (\d+) x (\d+) x (\d+)", lambda t, n: t.cube_points(n, 160)),
    ("appbt", r"grid: (\d+) x (\d+) x (\d+)", lambda t, n: t.cube_points(n, 720)),
])
def test_sizes_are_the_programs_own(built, tmp_path, name, pattern, points):
    from harness import traffic
    from harness.building import compile_once
    from harness.contenders import PROGRAMS
    program = tmp_path / name
    compile_once(PROGRAMS[name], "plain", built.build, program)
    for total in (5 * MIB, 7 * MIB + 12345):
        done = built.run(program, "--memory-size", total, "--iterations", 1)
        assert done.returncode == 0, done.stderr
        sides = [int(s) for s in re.search(pattern, done.stdout).groups()]
        expected = {"cgm": lambda: sides[0], "fftpde": lambda: sides[0] * sides[1] * sides[2],
                    "mgrid": lambda: (sides[0] + 2) * (sides[1] + 2) * (sides[2] + 2)}
        inside = lambda: sides[0] * (sides[0] - 2) ** 2  # noqa: E731
        assert points(traffic, total) == expected.get(name, inside)()


def test_short_lines_are_swept_once_more():
    """MGRID's copies between the ends of lines touch every page where a line is shorter than one."""
    from harness.traffic import mgrid_made, mgrid_work
    assert len(mgrid_made("u0 v", "r0", {"u0", "r0"})) == 2 and len(mgrid_made("u0 v", "r0", {"u0", "r1"})) == 1
    short, long = mgrid_work(1536 * MIB, 3).least(256 * MIB), mgrid_work(12 << 30, 3).least(2 << 30)  # 386 points; 514 and more
    assert short.read > 1.15 * long.read / 8


def test_every_program_moves_something_and_nothing_in_core():
    from harness.contenders import NINE as programs
    assert len(programs) == 9
    for program in programs:
        assert program.source.exists(), program.source
        total = int(program.multiple * 64 * MIB)
        moved = program.work(total).least(64 * MIB)
        assert moved.read >= total - 64 * MIB - 8 * MIB, program.name
        assert program.work(total).least(2 * total).written == 0


# Figures and tables.


def sample(wall, user, system, own, status="ok", output="a", faults=None):
    stats = faults and {"active": True, "why_not": None, "faults": dict(zip(("prefetched_hit", "late", "not_prefetched"), faults)),
                        "io": {"read_bytes": 30 * MIB, "written_bytes": 10 * MIB}}
    return {"wall_s": wall, "user_s": user, "system_s": system, "status": status, "first_thread_cpu_s": own, "peak_bytes": 1,
            "output_sha256": output, "stats": stats}


def entry(name="buk", **changes):
    samples = {"original": [sample(12, 1.5, 0.5, 2), sample(10, 1, 1, 2), sample(14, 1, 1, 2)],
               "pagecast": [sample(2.5, 1.25, 1, 1.5, faults=(960, 20, 20))],
               "in_core_plain": [sample(1.4, 0.75, 0.25, 1.0)], "in_core_pagecast": [sample(1.4, 0.75, 0.27, 1.02)]}
    static = {"code_bytes": {"plain": 4000, "pagecast": 5000},
              "compile": {"plain": [{"wall_s": w, "cpu_s": w} for w in (1, 2, 9)], "pagecast": [{"wall_s": 2.5, "cpu_s": 2.5}]}}
    return {"name": name, "multiple": 2.75, "data_bytes": 4 * MIB, "arguments": [], "in_core_refusal": None, "static": static,
            "least_bytes": {"read": 100_000_000, "written": 50_000_000}, "samples": samples, **changes}


def nothing():
    return {c: [] for c in ("original", "pagecast", "in_core_plain", "in_core_pagecast")}


DISK = [{"read": 100e6, "write": 100e6, "random": 1.0}, {"read": 900e6, "write": 900e6, "random": 1.0},
        {"read": 100e6, "write": 50e6, "random": 1.0}]


def result(*entries, **changes):
    return {"version": 1, "kind": "nine", "machine": {"architecture": "x", "processors": 2, "model": "Some CPU", "memory_bytes": 8 << 30},
            "kernel": "6.1", "commit": "abc", "command": ["nine.py"], "limit_bytes": 256 * MIB, "runs": 3, "parts": [], "unavailable": {},
            "other_swap": False, "complete": True, "disk_samples": DISK, "programs": list(entries), **changes}


def test_figures_by_hand():
    from harness.figures import figures
    f = figures(entry(), DISK)
    assert f["speed_up"] == 12 / 2.5 and not f["speed_up_is_least"]
    assert f["prefetched_hits"] == 0.96 and f["fault_pages"] == {"prefetched_hit": 960, "late": 20, "not_prefetched": 20}
    assert (f["original_stall_s"], f["pagecast_stall_s"], f["stall_removed"]) == (10, 1, 0.9)
    assert (f["in_core_cpu_s"], f["disk_s"], f["limit_s"], f["limit_is"]) == (1, 1.5, 1.5, "disk"), "of median rates"
    assert f["to_limit"] == 2.5 / 1.5 and f["stall_removed_at_best"] == 0.95
    assert f["in_core_ratio"] == pytest.approx(1.02) and f["code_growth"] == 0.25 and f["compile_ratio"] == 1.25
    assert f["moved_s"] == pytest.approx(0.4 * MIB / 1e6) and f["identical"] is True


def test_what_was_not_measured_is_none():
    from harness.figures import figures
    f = figures(entry(samples=nothing(), static=None), [])
    assert {k for k, v in f.items() if v is not None} == {"speed_up_is_least"}
    samples = {**entry()["samples"], "original": [sample(3, 1, 1, None, status="killed")]}
    f = figures(entry(samples=samples), DISK)
    assert f["speed_up"] is None and f["stall_removed"] is None and f["pagecast_s"] == 2.5


def test_a_run_that_was_given_up_bounds_the_speed_up():
    from harness.figures import figures
    from experiments.nine_table import nine_markdown
    given_up = entry(samples={**entry()["samples"], "original": [sample(1800, 1, 1, 2, status="timeout")]})
    f = figures(given_up, DISK)
    assert f["speed_up"] == 720 and f["speed_up_is_least"] and f["stall_removed"] is None
    text = nine_markdown(result(given_up))
    assert "| timeout |" in text and "| ≥ 720.0 |" in text and "on swap: 1 of 1." in text
    too_early = entry("cgm", samples={**entry()["samples"], "original": [sample(5, 1, 1, 2, status="timeout")]})
    text = nine_markdown(result(given_up, too_early))
    assert "| ≥ 2.0 |" in text and "on swap: 1 of 1." in text, "not known is not missed"
    assert "programs: at least 37.95 (≥ 5: met)" in text


def test_outputs_are_compared():
    from harness.figures import identical
    assert identical({"a": [sample(1, 1, 1, 1)], "b": []}) is None
    assert identical({"a": [sample(1, 1, 1, 1)], "b": [sample(1, 1, 1, 1, output="b")]}) is False
    assert identical({"a": 2 * [sample(1, 1, 1, 1)], "b": [sample(1, 1, 1, 1, "killed", "b")]}) is True


def cells(text, name):
    return [c.strip() for c in next(line for line in text.splitlines() if line.startswith(f"| {name}")).strip("|").split("|")]


def test_table_marks_what_is_missed():
    from experiments.nine_table import nine_markdown
    text = nine_markdown(result(entry(), entry("cgm", samples=nothing(), static=None)))
    assert cells(text, "buk, ") == ["buk, 2.75 × limit", "12.00 (10.00–14.00)", "2.50 (2.50–2.50)", "4.8", "96.0 %",
                                    "2.00 % (20) / 2.00 % (20)", "90.0 % (of 95 %)", "1.50 disk", "**1.67**", "1.020", "**+25.0 %**",
                                    "1.25", "yes"]
    assert cells(text, "cgm, ")[1:] == 12 * ["-"]
    assert "Within 1.3 times of the limit: 0 of 1; missed by buk." in text
    assert "At least 3 times faster than the original on swap: 1 of 1." in text
    columns = [{line.count("|") for line in part.splitlines()} for part in text.split("\n\n")[1:3]]
    assert columns == [{14}, {12}], "a Markdown table has as many cells in each row"


def test_mean_of_speed_ups():
    from experiments.nine_table import nine_markdown
    faster = entry("cgm", samples={**entry()["samples"], "original": [sample(2.5 * 7.5, 1, 1, 2)]})
    assert "speed-ups of 2 programs: 6.00 (≥ 5: met)" in nine_markdown(result(entry(), faster))
    assert "Geometric mean" not in nine_markdown(result(entry()))


def test_troubles_are_said():
    from experiments.nine_table import nine_markdown
    samples = entry()["samples"]
    samples["original"] = []
    samples["pagecast"] = [{**sample(2, 1, 1, 1, output="b"), "stats": {**sample(1, 1, 1, 1, faults=(0, 0, 0))["stats"], "active": False}},
                           sample(2, 1, 1, 1, status="signal 11")]
    text = nine_markdown(result(entry(samples=samples, in_core_refusal="needs 9 MiB of memory"), complete=False,
                                unavailable={"original": "swap needs root"}))
    for sentence in ("Not measured: the original on swap: swap needs root.", "This run was interrupted", "buk: NOT every output",
                     "buk: pagecast paged nothing", "ended with signal 11", "buk: in core: needs 9 MiB", "**NO**"):
        assert sentence in text


def test_without_root_nothing_fails(monkeypatch):
    from harness.limits import limit_refusal
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "need root" in limit_refusal(64 * MIB)


def test_without_memory_no_in_core_run():
    from harness.limits import in_core_refusal
    assert in_core_refusal(MIB) is None
    assert "MiB of memory" in in_core_refusal(1 << 60)


# The command.


def test_table_of_an_earlier_run(tools, tmp_path):
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(result(entry())))
    done = tools.run(sys.executable, *NINE, "--table", earlier)
    assert done.returncode == 0 and "| buk, 2.75 × limit | 12.00 (10.00–14.00) |" in done.stdout and not done.stderr


def test_static_part(built, tmp_path):
    out = tmp_path / "out.json"
    done = built.run(sys.executable, *NINE, "--build", built.build, "--only", "static", "--programs", "buk", "--json", out,
                     "--work", tmp_path / "work")
    assert done.returncode == 0, done.stderr
    data = json.loads(out.read_text())
    assert data["complete"] and data["disk_samples"] == [] and {"machine", "kernel", "commit", "command"} <= set(data)
    [buk] = data["programs"]
    assert all(samples == [] for samples in buk["samples"].values())
    assert {k: len(v) for k, v in buk["static"]["compile"].items()} == {"plain": 5, "pagecast": 5}
    code = buk["static"]["code_bytes"]
    assert buk["figures"]["code_growth"] == code["pagecast"] / code["plain"] - 1
    row = cells(done.stdout, "buk, ")
    assert row[1:10] == 9 * ["-"] and row[12] == "-" and "%" in row[10]
    assert "buk: code and compile time" in done.stderr
    assert not (tmp_path / "work" / "keys").exists(), "what is not run needs no keys"


@pytest.mark.parametrize("words, said", [
    (["--programs", "bukk"], "there is no program 'bukk'; there are buk, matvec, embar"),
    (["--programs", "buk:much"], "'much' is not a multiple of the limit"),
    (["--only", "swap,swop"], "there is no 'swop'; there are swap, pagecast, incore, static"),
    (["--runs", "0"], "at least one run is needed"),
    (["--limit", "lots"], "'lots' is not a size; write 256M or 1G"),
    (["--limit", "1M"], "use 32M or more"),
    (["--timeout", "-1"], "give the seconds"),
    (["--table", "/nowhere/nine.json"], "/nowhere/nine.json cannot be read"),
    (["--table", str(ROOT / "tests" / "system" / "conftest.py")], "cannot be read as JSON"),
    (["--only", "static", "--build", "/nowhere", "--work", "WORK"], "/nowhere/bin/pagecast-cc is missing"),
])
def test_bad_input_is_answered_with_a_sentence(tools, tmp_path, words, said):
    assert_refused(tools, NINE, "nine", [str(tmp_path) if w == "WORK" else w for w in words], said)


def test_results_of_others_are_refused(tools, tmp_path):
    other = tmp_path / "demo.json"
    other.write_text(json.dumps({"version": 1, "programs": []}))
    done = tools.run(sys.executable, *NINE, "--table", other)
    assert done.returncode == 2 and "is not a result of make nine, version 1" in done.stderr


def test_help_teaches(tools):
    done = tools.run(sys.executable, *NINE, "--help")
    assert done.returncode == 0
    for words in ("make nine NINE_ARGS=", "swap:", "static:", "exit status", "appbt"):
        assert words in done.stdout
