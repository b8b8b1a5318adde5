# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the suite's runner makes of failures: which tests have a second run, and which never do."""

import os
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import run_all  # noqa: E402

TEST = "tests/system/cli/test_run.py::test_x[1]"


def report(folder, inside: str) -> Path:
    path = folder / "report.xml"
    path.write_text(f'<testsuites><testsuite><testcase classname="tests.system.cli.test_run" name="test_x[1]">{inside}</testcase>'
                    "</testsuite></testsuites>")
    return path


@pytest.mark.parametrize("message", ["assert (0 &gt;= 1)", "AssertionError: too few&#10;assert 12.5 &lt; 4e-3", "assert (1 &lt; 2 and 3 &gt; 4)"])
def test_a_bound_that_was_missed_is_run_again(tmp_path, message):
    tally = run_all.Tally()
    tally.read("system", report(tmp_path, f'<failure message="{message}"/>'))
    assert list(tally.missed) == [TEST] and not tally.failed
    tally.read(run_all.AGAIN, report(tmp_path, ""))
    assert tally.passed == 1 and tally.again[0].startswith(TEST) and not tally.failed


def test_a_bound_that_is_missed_twice_has_failed(tmp_path):
    tally = run_all.Tally()
    tally.read("system", report(tmp_path, '<failure message="assert 0 &gt;= 1"/>'))
    tally.read(run_all.AGAIN, report(tmp_path, '<failure message="assert 0 &gt;= 1"/>'))
    assert tally.failed == [f"{TEST}, twice"] and tally.passed == 0


@pytest.mark.parametrize("message", [
    "assert 'a' == 'b'", "assert 1 == 2", "assert [1] &lt; [0]", "assert (2 &lt;= 1 or 'a' in 'xyz')", "assert not 1 &lt; 2",
    "subprocess.TimeoutExpired: timed out after 3 &gt; 2 seconds", "assert -11 == 0", ""])
def test_results_crashes_and_hangs_are_failures_at_once(tmp_path, message):
    tally = run_all.Tally()
    tally.read("system", report(tmp_path, f'<failure message="{message}"/>'))
    assert len(tally.failed) == 1 and not tally.missed


def test_who_counts_no_turns_has_what_others_leave_of_the_processors(tmp_path, capfd):
    policies = {}
    for name in ("unit", run_all.FILLER):
        said = [sys.executable, "-c", "import os; print('policy', os.sched_getscheduler(0))"]
        run_all.Suite(name, said, tmp_path / "none.xml").end(run_all.Tally())
        policies[name] = int(re.search(r"^policy (\d+)$", capfd.readouterr().out, re.MULTILINE)[1])
    assert policies == {"unit": os.sched_getscheduler(0), run_all.FILLER: os.SCHED_IDLE}


def test_files_with_a_mark_are_those_that_pytest_finds(tools):
    listed = tools.run(*run_all.pytest(tools.build, "--collect-only", "-m", "few or alone", "--rootdir", run_all.ROOT))
    found = {line.partition("::")[0] for line in listed.stdout.splitlines() if "::" in line}
    marked = {str(file.relative_to(run_all.ROOT)) for mark in ("few", "alone") for file in run_all.marked(mark)}
    assert found and found == marked


def test_what_python_compiles_is_kept_beside_the_build(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "module.py").write_text("")
    said = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import module; print(module.__cached__)"]
    run_all.Suite("unit", said, tmp_path / "build" / "reports" / "none.xml").end(run_all.Tally())
    kept = Path(capfd.readouterr().out.splitlines()[-1])
    assert kept.exists() and kept.is_relative_to(tmp_path / "build" / "pycache")


def test_what_make_build_builds_is_all_but_the_tests():
    listed = re.search(r"foreach\(layer ([^)]*)\)", (run_all.ROOT / "CMakeLists.txt").read_text())[1].split()
    rooms = re.search(r"^ROOMS\s*:= (.*)$", (run_all.ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert rooms == [folder for folder in listed if not folder.startswith("tests/")]
