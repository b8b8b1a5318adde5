# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits that a shell's ulimit sets: the program gets the right result, never waits for what will not come, and says the cause."""

import json
import os
import resource
import subprocess

import pytest

from failing_disks import Unavailable, small_disk

MIB = 1 << 20
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static unsigned long *block[6];
int main(int argc, char **argv) {
  unsigned long sum = 0;
  const int blocks = argc > 1 ? atoi(argv[1]) : 6;
  const unsigned long words = (6 << 20) / blocks;
  for (int b = 0; b < blocks; ++b) {
    block[b] = malloc(words * sizeof(long));
    for (unsigned long i = 0; i < words; ++i) block[b][i] = (b * words + i) * 2654435761u;
  }
  for (int b = 0; b < blocks; ++b)
    for (unsigned long i = 0; i < words; ++i) sum = sum * 31 + block[b][i];
  printf("%lx\n", sum);
}
"""


@pytest.fixture(scope="module")
def program(built, tmp_path_factory):
    """The hinted build, and what it prints. It has 48 MiB of data."""
    home = tmp_path_factory.mktemp("program")
    (home / "p.c").write_text(SOURCE)
    return built.compile(built.cc, home / "p.c", "-O2"), built.run(built.compile("clang-19", home / "p.c", "-O2")).stdout


def run(program, backing, stats, limit=None, blocks=6):
    """Within 16 MiB. `limit`: of ulimit, and how much. `blocks`: that the data are in."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
    settings = {"PAGECAST_MEMORY": "16M", "PAGECAST_BACKING": str(backing), "PAGECAST_STATS": str(stats)}
    done = subprocess.run([program[0], str(blocks)], capture_output=True, text=True, timeout=100, env=clean | settings,
                          preexec_fn=(lambda: resource.setrlimit(limit[0], (limit[1], limit[1]))) if limit else None)
    assert (done.returncode, done.stdout) == (0, program[1]), done.stderr
    return done.stderr


@pytest.mark.parametrize("length, says", [
    (1 * MIB, "cannot be paged: files may have no more than 1024 KiB (ulimit -f)"),
    (40 * MIB, "32 MiB can be paged, since files may not be larger (ulimit -f)")])
def test_files_of_limited_length_are_not_waited_for(program, disk_dir, tmp_path, length, says):
    said = run(program, disk_dir, tmp_path / "s.json", (resource.RLIMIT_FSIZE, length))
    if "userfaultfd" in said:
        pytest.skip(said)
    assert said.count(says) == said.count("\n") == 1
    figures = json.loads((tmp_path / "s.json").read_text())
    assert figures["trouble"]["no_room"] == 0 and figures["active"] == (length > 16 * MIB)


def test_a_lack_of_descriptors_is_said_as_that(program, disk_dir, tmp_path):
    said = run(program, disk_dir, tmp_path / "s.json", (resource.RLIMIT_NOFILE, 6))
    if "userfaultfd" in said:
        pytest.skip(said)
    assert "cannot be paged: no descriptors are left for the pager (ulimit -n?). It runs" in said


def test_a_reason_is_said_once(program, disk_dir, tmp_path):
    """Neither pages nor memory in a file find room, of which the directory's name is written in two ways."""
    try:
        with small_disk(disk_dir, 20 * MIB) as disk:
            space = os.statvfs(disk)
            with (disk / "filler").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - (space.f_bavail * space.f_frsize // 16))
            (tmp_path / "link").symlink_to(disk)
            said = run(program, tmp_path / "link", tmp_path / "s.json", blocks=1)
    except Unavailable as reason:
        pytest.skip(str(reason))
    if "userfaultfd" in said:
        pytest.skip(said)
    assert said.count("MiB free, but") == 1 and "may be needed. It runs as it would" in said
    assert json.loads((tmp_path / "s.json").read_text())["why_not"].endswith("may be needed")
