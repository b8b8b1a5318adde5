# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads of the program's own into paged memory: direct ones while pages change hands, and large ones."""

import json
import os
import subprocess
from pathlib import Path
from time import sleep

import pytest

from failing_disks import Unavailable, failing_files

SOURCE = Path(__file__).parent / "reading.c"


@pytest.fixture(scope="module")
def program(built):
    return built.compile(built.cc, SOURCE, "-O2", "-pthread")


@pytest.fixture
def slow(tmp_path):
    """A directory with a file whose reads can be held up."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    try:
        with failing_files(tmp_path) as made:
            yield made
    except Unavailable as reason:
        pytest.skip(str(reason))


def run(program, slow, disk_dir, tmp_path, way: str) -> tuple[str, dict]:
    """What the program says at last, and its figures. The read is held up while the program does the rest."""
    place, files = slow
    stats = tmp_path / "stats.json"
    settings = {"PAGECAST_MEMORY": "24M", "PAGECAST_BACKING": str(disk_dir), "PAGECAST_STATS": str(stats)}
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
    process = subprocess.Popen([program, place / "data", way], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=clean | settings)

    def step(expected: str):
        assert process.stdout.readline() == expected + "\n"

    def go_on():
        process.stdin.write("\n")
        process.stdin.flush()
    try:
        step("written")
        files.answers.clear()
        go_on()
        step("reading")
        while not files.held:
            sleep(0.001)
        go_on()
        step("stored")
        files.answers.set()
        go_on()
        last = process.stdout.read().strip()
        assert process.wait(timeout=60) == 0, last
    finally:
        files.answers.set()
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    figures = json.loads(stats.read_text())
    if not figures["active"]:
        pytest.skip(figures["why_not"])
    return last, figures


@pytest.mark.parametrize("way", ["one", "vectors"])
def test_a_block_is_not_paged_under_a_read(program, slow, disk_dir, tmp_path, way):
    last, figures = run(program, slow, disk_dir, tmp_path, way)
    assert last == "all there"
    # The read over, it is paged as well.
    assert figures["budget"]["region_bytes"] >= (48 + 32 + 8) << 20


def test_a_read_into_memory_that_has_moved_fails(program, slow, disk_dir, tmp_path):
    last, _ = run(program, slow, disk_dir, tmp_path, "moved")
    assert last == "Bad address"


def test_reads_that_handlers_leave_by_jumps(built, disk_dir, tmp_path):
    target = built.compile(built.cc, SOURCE.parent / "jumping.c", "-O2")
    stats = tmp_path / "stats.json"
    settings = {"PAGECAST_MEMORY": "24M", "PAGECAST_BACKING": str(disk_dir), "PAGECAST_STATS": str(stats)}
    done = built.run(target, disk_dir / "data", env=settings)
    if not json.loads(stats.read_text())["active"]:
        pytest.skip("nothing is paged here")
    assert (done.returncode, done.stdout) == (0, "all there\n"), done.stderr


def test_large_reads_in_pieces(built, disk_dir, tmp_path):
    """They give what they give in one, and leave the file's place where they leave it."""
    target = built.compile(built.cc, SOURCE.parent / "pieces.c", "-O2", "-pthread")
    stats = tmp_path / "stats.json"
    settings = {"PAGECAST_MEMORY": "24M", "PAGECAST_BACKING": str(disk_dir), "PAGECAST_STATS": str(stats)}
    done = built.run(target, disk_dir / "data", env=settings)
    assert (done.returncode, done.stdout) == (0, "all there\n"), done.stderr
    if not json.loads(stats.read_text())["active"]:
        pytest.skip("nothing is paged here")
