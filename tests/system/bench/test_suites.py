# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make test-real` with --speculate: what it reads from the logs of suites, and the slow directory that they run in."""

import os
import sys

import pytest

from places import ROOT

REAL = ROOT / "tests" / "real"
sys.path.insert(0, str(REAL))

import slow_tree  # noqa: E402
import speculated  # noqa: E402
import suites  # noqa: E402


def test_list_and_a_name_that_is_not_there(tools):
    def driver(*arguments):
        return tools.run(sys.executable, REAL / "real.py", "--build", tools.build, "--speculate", *arguments)
    listed = driver("--list")
    assert listed.returncode == 0 and [line.split()[0] for line in listed.stdout.splitlines()] == [s.name for s in suites.SUITES]
    refused = driver("--packages", "gsl")
    assert refused.returncode == 2 and "'gsl'" in refused.stderr and "tar" in refused.stderr


def test_single_tests_of_each_kind_of_log():
    assert suites.automake("PASS: a\nSKIP: b.sh\nXFAIL: c 2 - d\n# PASS: 1\n") == {"a": "PASS", "b.sh": "SKIP", "c 2 - d": "XFAIL"}
    log = "  3: mixing options        ok\n 20: sparse: a file   FAILED (sparse.at:30)\n 21: links   skipped (l.at:3)\nAll ok\n"
    assert suites.autotest(log) == {"3: mixing options": "ok", "20: sparse: a file": "FAILED", "21: links": "skipped"}
    log = "select1-1.1... Ok\nselect1-1.2...\n! select1-1.2 expected: [1]\nselect1-1.3... Ok\n"
    assert suites.testfixture(log) == {"select1-1.1": "ok", "select1-1.2": "failed", "select1-1.3": "ok"}


def test_every_difference_is_told():
    assert speculated.differences({"a": "ok", "b": "ok", "c": "ok"}, {"a": "ok", "b": "FAILED", "d": "ok"}) == [
        "b: ok plain, FAILED with copies", "c: ok plain, absent with copies", "d: absent plain, ok with copies"]


def test_a_slow_tree_can_be_written_to(tools, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("slow storage is mounted: that needs root")
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "file").write_text("of before\n")
    try:
        with slow_tree.slow_tree(tools.build, tmp_path / "built", tmp_path / "tree", 0.1) as tree:
            assert (tree / "file").read_text() == "of before\n"
            (tree / "file").write_text("changed\n")
            (tree / "new").mkdir()
            assert sorted(p.name for p in tree.iterdir()) == ["file", "new"] and (tree / "file").read_text() == "changed\n"
    except slow_tree.Unavailable as reason:
        pytest.skip(str(reason))
    assert (tmp_path / "built" / "file").read_text() == "of before\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["built", "tree"] and not list((tmp_path / "tree").iterdir())
