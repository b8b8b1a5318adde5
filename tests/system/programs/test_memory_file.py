# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where userfaultfd is refused, large memory lives in a file: programs do what they do without pagecast."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from places import ROOT
from failing_disks import Unavailable, small_disk
from paging import SOURCES, UNHURT, plain_and_hinted

MEMORY = str(24 << 20)
WAYS = ["family", "stack", "treated", "others", "locked"]
FILES = ROOT / "tests" / "system" / "files"
PROGRAMS = [*SOURCES.values(), *(UNHURT / name for name in ("fork.c", "mappings.c", "signals.c", "sparse.c"))]


@pytest.fixture(scope="module")
def compiled(built):
    """A function: the plain program and the one with hints."""
    def compile(source: Path) -> list[Path]:
        if source.name in SOURCES:
            return plain_and_hinted(built, source.name)
        compilers = ("clang++-19", built.cxx) if source.suffix == ".cpp" else ("clang-19", built.cc)
        return [built.compile(compiler, source, "-O2", "-pthread", "-ldl") for compiler in compilers]
    return compile


@pytest.fixture(scope="module")
def refuse(built):
    """The command before which userfaultfd is refused; skips where it cannot be."""
    target = built.compile("clang-19", FILES / "refuse.c")
    if built.run(target, "true").returncode == 126:
        pytest.skip("no seccomp filters")
    return target


def run(built, command, disk_dir, tmp_path, backend="advise", memory=MEMORY):
    """Output and figures; skips where the backing directory cannot have it."""
    stats = tmp_path / "stats.json"
    done = built.run(*command, env={"PAGECAST_MEMORY": memory, "PAGECAST_STATS": str(stats), "PAGECAST_BACKING": str(disk_dir),
                                    "PAGECAST_BACKEND": backend})
    if "cannot live in a file" in done.stderr or "nor can they live in a file" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert list(disk_dir.iterdir()) == []
    return done, json.loads(stats.read_text())


def same(built, plain, command, disk_dir, tmp_path, *arguments, **options):
    done, figures = run(built, [*command, *arguments], disk_dir, tmp_path, **options)
    assert (done.returncode, done.stdout, done.stderr) == (0, built.output(plain, *arguments), "")
    assert figures["active"] and figures["back_end"].startswith("advise, with memory in a file: ")
    assert figures["budget"]["regions"] == 0
    return figures


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.name)
def test_same_output(built, compiled, disk_dir, tmp_path, source):
    plain, hinted = compiled(source)
    figures = same(built, plain, [hinted], disk_dir, tmp_path)
    assert figures["files"]["regions"] > 0 or source.name in ("sparse.c", "arenas.c")  # reserved address space stays as it is


def test_programs_started_in_every_way(built, compiled, disk_dir, tmp_path):
    plain, hinted = compiled(UNHURT / "spawn.c")
    done, _ = run(built, [hinted], disk_dir, tmp_path)  # the figures are those of what it becomes
    assert (done.returncode, done.stdout, done.stderr) == (0, built.output(plain), "")


@pytest.mark.parametrize("way", WAYS)
def test_it_is_private_memory(built, compiled, disk_dir, tmp_path, way):
    plain, hinted = compiled(FILES / "memory.c")
    figures = same(built, plain, [hinted], disk_dir, tmp_path, way)["files"]
    assert figures["regions"] > 0
    # A block that another thread may be storing to stays.
    assert figures["memory_left"] == (1 if way == "others" else 0)


def test_doctor_where_userfaultfd_is_refused(built, refuse):
    done = built.run(refuse, built.pagecast, "doctor", "--no-disk")
    assert "up to twice as long as with the pager" in done.stdout
    assert "without its pager" in done.stdout and "fail  userfaultfd" not in done.stdout, done.stdout
    assert done.returncode == (1 if "\nfail" in done.stdout else 0)


@pytest.mark.parametrize("source", ["allocations.c", "globals.c", "threads.c"])
def test_where_userfaultfd_is_refused(built, compiled, refuse, disk_dir, tmp_path, source):
    plain, hinted = compiled(SOURCES[source])
    figures = same(built, plain, [refuse, hinted], disk_dir, tmp_path, backend="auto")
    assert "userfaultfd is not permitted" in figures["back_end"] and figures["files"]["regions"] > 0


def test_the_pager_alone_says_why_it_cannot(built, compiled, refuse, disk_dir, tmp_path):
    plain, hinted = compiled(SOURCES["globals.c"])
    done, figures = run(built, [refuse, hinted], disk_dir, tmp_path, backend="pager")
    assert done.returncode == 0 and done.stdout == built.output(plain)
    assert done.stderr.count("\n") == 1 and "userfaultfd is not permitted" in done.stderr and not figures["active"]


@pytest.mark.parametrize("source", ["allocations.c", "threads.c"])
def test_where_io_uring_alone_is_refused_the_pager_has_another_queue(built, compiled, refuse, disk_dir, tmp_path, source):
    """Both for requests of nests and for faults, and in children of forks."""
    for program in compiled(SOURCES[source]):
        stats = tmp_path / "stats.json"
        done = built.run(refuse, "--io_uring", built.pagecast, "run", "--memory", MEMORY, "--backing", disk_dir, "--stats", stats, "--", program)
        figures = json.loads(stats.read_text())
        if not figures["active"] and "io_uring" not in figures["why_not"]:
            pytest.skip(figures["why_not"])
        assert (done.returncode, done.stdout, done.stderr) == (0, built.output(compiled(SOURCES[source])[0]), "")
        assert figures["back_end"] == "pager" and figures["io"]["read_bytes"] > 0 and figures["io"]["written_bytes"] > 0
    done = built.run(refuse, "--io_uring", built.pagecast, "doctor", "--no-disk")
    assert re.search(r"warn  io_uring +refused: .*; the older queue", done.stdout) and "pager for memory" in done.stdout, done.stdout


def test_data_that_fit_stay_in_memory(built, compiled, disk_dir, tmp_path):
    plain, hinted = compiled(SOURCES["globals.c"])
    done, figures = run(built, [hinted], disk_dir, tmp_path, memory="256M")
    assert done.returncode == 0 and not figures["active"] and figures["files"]["regions"] == 0


def test_a_disk_without_room_leaves_memory_alone(built, compiled, disk_dir, tmp_path):
    """What has no room on the disk is not moved there: no store meets a full disk."""
    plain, hinted = compiled(SOURCES["allocations.c"])
    try:
        with small_disk(tmp_path, 40 << 20) as disk:
            (disk / "lost+found").rmdir()
            figures = same(built, plain, [hinted], disk, tmp_path)["files"]
            assert figures["regions"] > 0 and figures["memory_left"] > 0
    except Unavailable as reason:
        pytest.skip(str(reason))


def test_files_of_limited_length(built, compiled, disk_dir, tmp_path):
    """A file that may not grow is no place for memory, and the signal that says so does not come."""
    plain, hinted = compiled(SOURCES["allocations.c"])
    limited = ["sh", "-c", 'ulimit -f 30000; exec "$@"', "-"]
    figures = same(built, plain, [*limited, hinted], disk_dir, tmp_path)["files"]
    assert figures["memory_left"] > 0


def test_under_a_real_limit(built, compiled, disk_dir, tmp_path, memory_group):
    plain, hinted = compiled(SOURCES["sweeps.c"])
    group, stats = memory_group(32 << 20), tmp_path / "stats.json"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
    done = subprocess.run([hinted], capture_output=True, text=True, timeout=120, preexec_fn=group.join,
                          env={**clean, "PAGECAST_BACKEND": "advise", "PAGECAST_BACKING": str(disk_dir), "PAGECAST_STATS": str(stats)})
    assert (done.returncode, done.stdout, done.stderr) == (0, built.output(plain), "") and not group.was_killed()
    assert json.loads(stats.read_text())["files"]["memory_bytes"] > 48 << 20
