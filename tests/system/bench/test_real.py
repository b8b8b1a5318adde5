# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The driver of `make test-real`: what it reads from logs and records, its table, and what it refuses. The
packages themselves are not touched here."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from places import ROOT

REAL = ROOT / "tests" / "real"
sys.path.insert(0, str(REAL))

import archive  # noqa: E402
import counting  # noqa: E402
import evidence  # noqa: E402
import job  # noqa: E402
import outcome  # noqa: E402
from recipes import RECIPES  # noqa: E402


def driver(tools, *arguments):
    return tools.run(sys.executable, REAL / "real.py", "--build", tools.build, *arguments)


@pytest.mark.parametrize("arguments, words", [
    (("--packages", "gsl,nonesuch"), ("'nonesuch'", "fftw3")),
    (("--packages", ","), ("names no package",)),
    (("--memory", "8M"), ("--memory 8M", "16M")),
    (("--memory", "lots"), ("'lots' is not a size",)),
    (("--pressure", "4M"), ("--pressure 4M", "would page nothing")),
    (("--jobs", "0"), ("--jobs 0",)),
    (("--build", "/nonexistent"), ("pagecast is missing", "make build")),
])
def test_bad_input_is_refused_in_a_sentence(tools, tmp_path, arguments, words):
    done = driver(tools, "--work", tmp_path, "--json", tmp_path / "real.json", *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_list(tools):
    done = driver(tools, "--list")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == [recipe.name for recipe in RECIPES] and len(set(names)) == len(names) >= 12


def test_counts_of_automake_add_up():
    log = "# TOTAL: 5\n# PASS:  3\n# SKIP:  1\n# XFAIL: 0\n# FAIL:  1\n# TOTAL: 2\n# PASS:  1\n# SKIP:  0\n# XFAIL: 1\n# FAIL:  0\n"
    assert counting.automake(log) == counting.Count(5, 6)


def test_counts_of_ctest_add_up():
    log = "92% tests passed, 1 tests failed out of 12\n\n100% tests passed, 0 tests failed out of 3\n"
    assert counting.ctest(log) == counting.Count(14, 15)


def test_counts_by_lines_and_by_sums():
    assert counting.lines("^ok", "^BAD")("ok 1\nBAD 2\nnot ok\nok 3\n") == counting.Count(2, 3)
    assert counting.sums(r"passed (\d+)/", r"passed \d+/(\d+)")("passed 3/4\npassed 5/5\n") == counting.Count(8, 9)


@pytest.mark.parametrize("count", [counting.automake, counting.ctest, counting.lines("^ok", "^BAD")])
def test_silence_is_no_pass(count):
    assert count("make: nothing to be done\n") == counting.Count(0, 0)


RECORD = """--- !Passed
Pass:            pagecast
Name:            Hinted
DebugLoc:        { File: a.c, Line: 3, Column: 1 }
Function:        f
Args:
  - Array:           a
  - References:      '3'
...
--- !Passed
Pass:            pagecast
Name:            HintedIndirect
Function:        f
Args:
  - Array:           b
...
--- !Missed
Pass:            pagecast
Name:            NonAffine
Function:        f
...
--- !Missed
Pass:            loop-vectorize
Name:            MissedDetails
Function:        f
...
"""


def test_records_are_summed_without_trials_of_configure(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.opt.yaml").write_text(RECORD)
    (tmp_path / "src" / "b.opt.yaml").write_text(RECORD)
    (tmp_path / "conftest.opt.yaml").write_text(RECORD)
    found = evidence.remarks(tmp_path)
    assert found == {"nests": 0, "groups": 2, "references": 8, "indirect": 2, "refused": {"NonAffine": 2}}


def test_nests_are_counted_in_objects(built, tmp_path):
    source = tmp_path / "a.c"
    source.write_text("void f(double *a, long n) { for (long i = 0; i < n; i++) a[i] *= 2; }\n"
                      "void g(double *a, long n) { for (long i = 0; i < n; i++) a[i] += 3; }\n")
    done = built.run(built.cc, "-O2", "-c", source, "-o", tmp_path / "a.o", *job.RECORDS.split())
    assert done.returncode == 0, done.stderr
    found = evidence.remarks(tmp_path)
    assert (found["nests"], found["groups"], found["references"]) == (2, 2, 4)


def statistics(hit: int, active: bool = True) -> str:
    return json.dumps({"active": active, "io": {"read_bytes": 10, "written_bytes": 5}, "hints": {"nests_opened": 2},
                       "faults": {"events": 7, "prefetched_hit": hit, "late": 1, "not_prefetched": 2}})


def test_statistics_are_summed_over_processes(tmp_path):
    (tmp_path / "1.json").write_text(statistics(100))
    (tmp_path / "2.json").write_text(statistics(11, active=False))
    (tmp_path / "3.json").write_text('{"version": 1, "act')
    total = evidence.statistics(tmp_path)
    assert (total["processes"], total["paged"], total["unreadable"]) == (2, 1, 1)
    assert (total["moved_bytes"], total["faults"], total["prefetched_hit"]) == (30, 14, 111)


STANZAS = """# a comment
Types: deb
URIs: http://example.org/debian
Suites: stone stone-updates
Components: main
Signed-By: /usr/share/keyrings/example.gpg

Types: deb
URIs: http://example.org/tools
Suites: tools-stone
Components: main
"""


def test_source_entries_are_those_of_the_release(tmp_path):
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "a.sources").write_text(STANZAS)
    (parts / "b.list").write_text("deb [signed-by=/k.gpg] http://example.org/other nodistro main\n"
                                  "deb http://example.org/security stone-security main # ours\n")
    assert archive.source_entries(tmp_path, "stone") == [
        ("sources", "Types: deb-src\nURIs: http://example.org/debian\nSuites: stone stone-updates\nComponents: main\n"
                    "Signed-By: /usr/share/keyrings/example.gpg\n"),
        ("list", "deb-src http://example.org/security stone-security main\n")]
    assert archive.source_entries(tmp_path, "") == []


def test_no_archive_is_a_skip_with_its_reason(tmp_path):
    shop = archive.Archive(tmp_path / "archive", system=tmp_path / "etc")
    with pytest.raises(archive.Unavailable, match="no archive of this Debian release"):
        shop.fetch("gsl")


def test_description(tmp_path):
    file = tmp_path / "x.dsc"
    file.write_text(f"Version: 2:1.5+ds-3\nChecksums-Sha1:\n aa 1 no\nChecksums-Sha256:\n {'a' * 64} 12 x_1.5.tar.xz\n {'b' * 64} 3 x.diff\nFiles:\n")
    assert archive.version_of(file) == "1.5+ds-3"
    assert archive.files_of(file) == ["x_1.5.tar.xz", "x.diff"]


def test_sizes_are_as_people_write_them():
    assert [outcome.size(n) for n in (12, 3 << 10, 1010 << 20, 1536 << 20)] == ["12", "3K", "1010M", "1.5G"]


def entry(name: str, state: str, why: str = "", **more) -> dict:
    return {"name": name, "version": "1.0-1", "state": state, "why": why, **more}


def test_tables_and_counts():
    sums = {"paged": 2, "processes": 3, "moved_bytes": 5 << 20, "faults": 7, "prefetched_hit": 11}
    whole = entry("alpha", "passed", plain={"passed": 4, "total": 4}, paged={"passed": 4, "total": 4}, suite=sums,
                  larger=sums | {"faults": 77}, larger_identical=True,
                  remarks={"nests": 13, "groups": 9, "references": 17, "indirect": 1,
                           "refused": {"A": 1, "B": 5, "C": 3, "D": 2, "E": 1}})
    data = {"budget_bytes": 16 << 20, "pressure_bytes": 24 << 20,
            "packages": [whole, entry("beta", "skipped", "no network"), entry("gamma", "failed", "3/4")]}
    text = drawn(outcome.hint_table(data)) + drawn(outcome.paging_table(data))
    for words in ("13 │         17 │        1", "5 B, 3 C, 2 D, 2 other", "4/4 │          4/4 │             2/3 │    5M", "77", "identical", "16M"):
        assert words in text, text
    lines = outcome.summary(data["packages"])
    assert lines == ["skipped  beta: no network", "failed   gamma: 3/4", "1 passed, 1 failed, 1 skipped"]


def drawn(table) -> str:
    from rich.console import Console
    console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_a_step_ends_with_all_its_processes(tmp_path):
    script = f"sleep 300 & echo $! >{tmp_path}/pid; exit 3"
    with (tmp_path / "log").open("wb") as log:
        assert job.run_group(["sh", "-c", script], tmp_path, dict(os.environ), log, log, 60) == "exit status 3"
        assert job.run_group(["sh", "-c", "kill -SEGV $$"], tmp_path, dict(os.environ), log, log, 60) == "signal 11"
        assert "time-out" in job.run_group(["sleep", "300"], tmp_path, dict(os.environ), log, log, 0.2)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):  # the killed is a zombie until its new parent looks
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
        if not state or state.startswith("Z"):
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("a process of the step outlived it")


def test_pressure_pages_small_data_and_finds_them_unchanged(built, disk_dir):
    settings = job.Settings(built.build, disk_dir, 16 << 20, 24 << 20, 1, 60)
    job.make_pressure(settings)
    program = disk_dir / "small.c"
    program.write_text("#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n  long n = 1 << 18, s = 0, *a = malloc(n * sizeof *a);\n"
                       "  for (long i = 0; i < n; i++) a[i] = i;\n  for (int k = 0; k < 200; k++) for (long i = 0; i < n; i++) s += a[i];\n"
                       '  printf("%ld\\n", s);\n}\n')
    done = built.run(built.cc, "-O1", program, "-o", disk_dir / "small")
    assert done.returncode == 0, done.stderr
    done = built.run(built.pagecast, "run", "--memory", "16M", "--backing", disk_dir, "--stats", disk_dir / "%p.json",
                     "--option", "large=64K", "--", disk_dir / "small",
                     env={"LD_PRELOAD": str(disk_dir / "pressure.so"), "REAL_PRESSURE": str(24 << 20)})
    if "cannot be paged" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.stdout.strip() == str(200 * (((1 << 18) - 1) << 17))
    total = evidence.statistics(disk_dir)
    assert (total["processes"], total["paged"]) == (1, 1) and total["moved_bytes"] > 0
