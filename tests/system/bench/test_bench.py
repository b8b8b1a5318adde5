# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The harness: its arithmetic, its clean-up, and that a tiny demo runs to its end."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

MIB = 1 << 20


def test_traffic_is_nothing_in_core():
    from harness.contenders import PROGRAMS
    for program in PROGRAMS.values():
        moved = program.work(100 * MIB).least(200 * MIB)
        assert moved.written == 0
        assert moved.read <= 100 * MIB / 12  # buk's key file


def test_traffic_by_hand():
    from harness.traffic import buk_work, matvec_work
    row = 4_000_000
    moved = matvec_work(100 * row).least(50 * row)
    assert (moved.read, moved.written) == (3 * 51 * row, 51 * row)  # the vector is as long as a row
    s = 1200 * 1000 * 4
    moved = buk_work(3 * s + 4 * MIB).least(s // 2)
    assert moved.read == 3 * (s // 2) + 2 * (2 * s - s // 2) + s // 4
    assert moved.written == (2 * s - s // 2) + s // 2


def test_memory_at_hand_is_touched_and_freed(monkeypatch):
    import resource

    from harness import memory

    def faults() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    before = faults()
    assert memory.bring(64 * MIB) == 64 * MIB
    assert faults() - before >= 32  # large pages at most
    assert int(Path("/proc/self/statm").read_text().split()[1]) * 4096 < 300 * MIB
    monkeypatch.setattr(memory, "available", lambda: 16 * MIB + 100)
    assert memory.bring(64 * MIB) == 8 * MIB
    monkeypatch.setattr(memory, "available", lambda: 0)
    assert memory.bring(64 * MIB) == 0


@pytest.mark.alone
def test_what_is_cached_of_files_is_forgotten(monkeypatch, disk_dir):
    import mmap
    import resource

    from harness import disk
    if os.geteuid() != 0:
        pytest.skip("dropping the page cache needs root")
    monkeypatch.delenv("HARNESS_WARM")
    file = disk_dir / "file"
    file.write_bytes(os.urandom(8 * MIB))

    def major_faults() -> int:
        """Of touching each page: those that the page cache lacks."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as area:
            area.madvise(mmap.MADV_RANDOM)
            assert sum(area[::mmap.PAGESIZE]) > 0
        return resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before
    assert major_faults() == 0
    disk.forget()
    assert major_faults() >= 8 * MIB // mmap.PAGESIZE // 2


def test_sizes():
    from harness.report import parse_size
    assert parse_size("256M") == 256 * MIB and parse_size("1.5GiB") == 1536 * MIB and parse_size("12") == 12
    with pytest.raises(ValueError):
        parse_size("many")


def test_run_reports_how_a_program_ended(tmp_path):
    from harness import runs
    assert runs.run(["true"]).ok
    assert runs.run(["false"]).status == "exit status 1"
    assert runs.run(["sh", "-c", "kill -SEGV $$"]).status == "signal 11"
    assert runs.run(["sleep", "60"], timeout=0.2).status == "timeout"


INTERRUPTED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from harness import interruption
from harness.limits import MemoryGroup
interruption.install()
class Slow(MemoryGroup):
    def _configure(self):
        super()._configure()
        os.kill(os.getpid(), signal.SIGTERM)
group = Slow(64 << 20, swap=False)
try:
    with group:
        interruption.check()
        print("not interrupted")
except KeyboardInterrupt:
    print(group.path.exists())
"""


def test_an_interruption_while_a_group_is_made_leaves_none(memory_group):
    memory_group(32 * MIB)  # or they cannot be had here
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, ROOT / "bench"], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr


def test_limit_is_kept_and_the_killed_are_told(memory_group):
    from harness import runs
    eater = [sys.executable, "-c", "x = bytearray(64 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1"]
    assert runs.run(eater, memory_group(32 * MIB)).status == "killed"
    done = runs.run(eater, memory_group(256 * MIB))
    assert done.ok and 64 * MIB <= done.peak_bytes <= 256 * MIB


def test_control_groups_are_removed():
    from harness.limits import MemoryGroup
    if os.geteuid() != 0:
        pytest.skip("a memory control group needs root")
    with MemoryGroup(64 * MIB, swap=False) as group:
        path = group.path
        assert path.exists()
    assert not path.exists()


def test_key_file(tmp_path):
    from harness.contenders import prepare_keys
    (tmp_path / "in" / "b").mkdir(parents=True)
    (tmp_path / "in" / "a").write_bytes(b"aaa")
    (tmp_path / "in" / "b" / "c").write_bytes(b"ccc")
    (tmp_path / "in" / "link").symlink_to("a")
    prepare_keys(tmp_path / "keys", 5, lambda _: None, str(tmp_path / "in"))
    assert (tmp_path / "keys").read_bytes() == b"aaacc"


def test_demo_explains_itself_without_root(tools):
    if os.geteuid() != 0:
        prefix = []
    else:
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*prefix, sys.executable, "-c", "import rich"], capture_output=True).returncode:
            pytest.skip("another user cannot use this Python")
    done = tools.run(*prefix, sys.executable, ROOT / "bench", "demo", "--build", tools.build)
    assert done.returncode == 2 and "need root" in done.stderr


@pytest.mark.xdist_group("swap")
def test_tiny_demo(built, tmp_path, disk_dir):
    if os.geteuid() != 0:
        pytest.skip("the demo needs root")
    result = tmp_path / "demo.json"
    done = built.run(sys.executable, ROOT / "bench", "demo", "--build", built.build, "--quick", "--json", result,
                     "--work", disk_dir, "--programs", "buk:1.5,matvec:1.5", timeout=600)
    assert done.returncode == 0, done.stderr
    data = json.loads(result.read_text())
    assert [(p["name"], p["keys"]) for p in data["programs"]] == [("buk", "usr"), ("buk, uniform keys", "random"), ("matvec", None)]
    for program in data["programs"]:
        assert program["identical"] is True
        assert {"in_core_s", "original_s", "pagecast_s", "limit_s", "prefetched_hit_share", "code_growth", "samples"} <= set(program)
    assert str(disk_dir) not in Path("/proc/swaps").read_text() and not (disk_dir / "swap").exists()


def test_tiny_incore(built, tmp_path):
    result = tmp_path / "incore.json"
    done = built.run(sys.executable, ROOT / "bench", "incore", "--build", built.build, "--quick", "--json", result, timeout=300)
    assert done.returncode == 0, done.stderr
    assert all(p["identical"] for p in json.loads(result.read_text())["programs"])


def test_unmodified_programs_are_chosen_by_name(tools):
    done = tools.run(sys.executable, ROOT / "bench", "unmodified", "--programs", "numpy,perl")
    assert done.returncode == 2 and "there is no program perl; there are numpy,pandas,scikit-learn,scipy" in done.stderr


def test_what_a_program_lacks_is_said(tools):
    if os.geteuid() != 0:
        pytest.skip("the harness needs root")
    if importlib.util.find_spec("lightgbm"):
        pytest.skip("this Python has lightgbm")
    done = tools.run(sys.executable, ROOT / "bench", "unmodified", "--only", "lightgbm")
    assert done.returncode == 2 and f"none of the programs can run here: {sys.executable} has no lightgbm" in done.stderr


@pytest.mark.xdist_group("swap")
def test_tiny_unmodified(built, tmp_path, disk_dir):
    if os.geteuid() != 0:
        pytest.skip("the harness needs root")
    pytest.importorskip("numpy", reason="numpy is not installed")
    result = tmp_path / "people.json"
    done = built.run(sys.executable, ROOT / "bench", "unmodified", "--build", built.build, "--only", "numpy,lightgbm", "--limit", "80M",
                     "--multiple", "1.2", "--runs", "1", "--json", result, "--work", disk_dir)
    assert done.returncode == 0, done.stderr
    data = json.loads(result.read_text())
    (program,) = (p for p in data["programs"] if p["name"] == "numpy")
    assert program["identical"] and program["bytes"] == 96 << 20
    assert program["samples"]["pagecast"][0]["stats"]["io"]["written_bytes"] > 0
    assert "lightgbm" in done.stdout
    assert str(disk_dir) not in Path("/proc/swaps").read_text() and not (disk_dir / "swap").exists()


def test_unmodified_table_says_what_differed_and_what_ended():
    from experiments.unmodified import row
    sample = {"wall_s": 2.0, "status": "ok", "stats": {"faults": {"prefetched_hit": 7, "late": 2, "not_prefetched": 1}}}
    program = {"name": "p", "bytes": 3 * MIB, "swap_over_pagecast": None, "identical": False,
               "endings": {"in_core": "ok", "swap": "timeout", "pagecast": "ok"},
               "samples": {"in_core": [sample], "swap": [dict(sample, status="timeout")], "pagecast": [sample]}}
    assert row(program) == "| p | 3 | 2.0 (2.0-2.0) | timeout | 2.0 (2.0-2.0) | - | 7 / 2 / 1 | NO |"
    assert "| ≥ 7.50x |" in row(dict(program, swap_over_pagecast=7.5))


def test_what_was_compiled_for_one_test_is_there_for_the_next(tools, tmp_path, monkeypatch):
    from harness import building, runs

    lines, run = [], runs.run
    monkeypatch.setattr(runs, "run", lambda line: (lines.append(line), run(line))[1])
    monkeypatch.setenv("HARNESS_BUILDS", str(tmp_path / "kept"))
    (tmp_path / "words.h").write_text('#define WORDS "one"\n')
    source = tmp_path / "program.c"
    source.write_text('#include "words.h"\n#include <stdio.h>\nint main(void) { puts(WORDS); }\n')

    def printed(name: str, *more: str) -> str:
        building.compile_once(building.Source("program", source, more), "plain", tools.build, tmp_path / name)
        return tools.run(tmp_path / name).stdout
    assert (printed("a"), printed("b"), len(lines)) == ("one\n", "one\n", 1)
    assert (printed("c", "-g"), len(lines)) == ("one\n", 2), "another command line"
    (tmp_path / "words.h").write_text('#define WORDS "two"\n')
    assert (printed("d"), len(lines)) == ("two\n", 3), "another header"
    source.write_text("no program\n")
    with pytest.raises(RuntimeError, match="ended with"):
        printed("e")
