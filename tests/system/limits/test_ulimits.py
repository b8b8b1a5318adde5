# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits that a shell's ulimit sets: the program gets the right result, never waits for what will not come, and says the cause."""

import json
import os
import resource
import subprocess

import pytest

from blocks import blocks
from failing_disks import Unavailable, small_disk

MIB = 1 << 20


@pytest.fixture(scope="module")
def program(built):
    return blocks(built, 48, 6, 1)


@pytest.fixture(scope="module")
def one_block(built):
    return blocks(built, 48, 1, 1)


def run(program, backing, stats, limit=None):
    """Within 16 MiB. `limit`: of ulimit, and how much."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
    settings = {"PAGECAST_MEMORY": "16M", "PAGECAST_BACKING": str(backing), "PAGECAST_STATS": str(stats)}
    done = subprocess.run(program[0], capture_output=True, text=True, timeout=100, env=clean | settings,
                          preexec_fn=(lambda: resource.setrlimit(limit[0], (limit[1], limit[1]))) if limit else None)
    assert (done.returncode, done.stdout) == (0, program[1]), done.stderr
    if "userfaultfd" in done.stderr:
        pytest.skip(done.stderr)
    return done.stderr


@pytest.mark.parametrize("length, says", [
    (1 * MIB, "cannot be paged: files may have no more than 1024 KiB (ulimit -f)"),
    (40 * MIB, "32 MiB can be paged, since files may not be larger (ulimit -f)")])
def test_files_of_limited_length_are_not_waited_for(program, disk_dir, tmp_path, length, says):
    said = run(program, disk_dir, tmp_path / "s.json", (resource.RLIMIT_FSIZE, length))
    assert said.count(says) == said.count("\n") == 1
    figures = json.loads((tmp_path / "s.json").read_text())
    assert figures["trouble"]["no_room"] == 0 and figures["active"] == (length > 16 * MIB)


def test_a_lack_of_descriptors_is_said_as_that(program, disk_dir, tmp_path):
    said = run(program, disk_dir, tmp_path / "s.json", (resource.RLIMIT_NOFILE, 6))
    assert "cannot be paged: no descriptors are left for the pager (ulimit -n?). It runs" in said


def test_a_reason_is_said_once(one_block, disk_dir, tmp_path):
    """Neither pages nor memory in a file find room, of which the directory's name is written in two ways."""
    try:
        with small_disk(disk_dir, 20 * MIB) as disk:
            space = os.statvfs(disk)
            with (disk / "filler").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - (space.f_bavail * space.f_frsize // 16))
            (tmp_path / "link").symlink_to(disk)
            said = run(one_block, tmp_path / "link", tmp_path / "s.json")
    except Unavailable as reason:
        pytest.skip(str(reason))
    assert said.count("MiB free, but") == 1 and "may be needed. It runs as it would" in said
    assert json.loads((tmp_path / "s.json").read_text())["why_not"].endswith("may be needed")
