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


def test_signal_masks_are_a_copys_own(speculation, storage, tmp_path):
    """A program that blocks signals around its reads, as shells, make and tar do, finds them blocked in its copies, too."""
    with open(tmp_path / "file", "wb") as file:
        file.truncate(16 << 20)
    script = ("import os, signal\nf = os.open('file', os.O_RDONLY)\nn = 0\n"
              "for i in range(40):\n"
              "    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGHUP})\n"
              "    n += len(os.pread(f, 4096, i * 37 % 40 * 300000))\n"
              "    if signal.pthread_sigmask(signal.SIG_SETMASK, old) != {signal.SIGCHLD, signal.SIGHUP}:\n"
              "        signal.pause()\n"  # a call that ends a copy
              "print(n)\n")
    done = speculation.run("/usr/bin/python3", "-c", script, cwd=storage(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"163840\n", b"")
    copies = speculation.figures()["copies"]
    assert copies["made"] >= 1
    assert copies["ended"]["crashed"] == copies["ended"]["call"] == 0, copies


def test_without_that_none_is_made_for_so_little(speculation, storage, tmp_path):
    (tmp_path / "file").write_text("text\n")
    done = speculation.run("cat", "file", cwd=storage(tmp_path))
    assert (done.returncode, done.stdout) == (0, b"text\n")
    made = speculation.figures()["copies"]["made"]
    assert made < 1  # a bound, since a busy machine makes the wait longer, and then a copy is worth it
