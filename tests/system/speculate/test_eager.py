# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies that are made whether they are worth it or not: what the suites of real programs are run with."""

import subprocess

from speculating import speculation, storage  # noqa: F401

FILES = 12


def test_copies_of_programs_that_end_at_once(speculation, storage, tmp_path):
    """Most end before their copies have got anywhere. That is no crash, and no copy that could not be locked up."""
    home = tmp_path / "files"
    home.mkdir()
    for i in range(FILES):
        (home / f"f{i}").write_text(f"{i}\n" * 1000)
    script = "for i in *; do cat $i | sort | wc -l; done; exit 3"
    plain = speculation.plain("sh", "-c", script, cwd=home)
    line = speculation.command("sh", "-c", script)
    line[2:2] = ["--eager"]
    done = subprocess.run(line, cwd=storage(home), capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, b"")
    copies = speculation.figures()["copies"]
    assert copies["made"] >= 2
    assert copies["ended"]["crashed"] == copies["ended"]["set_up"] == 0, copies
    assert sum(copies["ended"].values()) == copies["made"]


def test_without_that_none_is_made_for_so_little(speculation, storage, tmp_path):
    (tmp_path / "file").write_text("text\n")
    done = speculation.run("cat", "file", cwd=storage(tmp_path))
    assert (done.returncode, done.stdout) == (0, b"text\n")
    assert speculation.figures()["copies"]["made"] == 0
