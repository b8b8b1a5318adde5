# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages for beginners, docs/start: what they say to paste prints what they say, under a limit that the data exceed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import contained
import pages
from places import ROOT

START = ROOT / "docs" / "start"
PAGES = {page.stem for page in START.glob("*.md")} - {"index"}
MIB = 1 << 20
# What a page needs beside what the build brings.
NEEDED = {"r": ["Rscript"], "fortran-mpi": ["mpif90", "mpirun"]}
# MiB of the control group, which holds the interpreter, or the compiler, as well; Slurm's is in its page.
LIMITS = {"python": 176, "r": 128, "package": 80, "c": 400, "fortran-mpi": 400, "container": 80}


@pytest.fixture
def shell(built, disk_dir):
    return pages.Shell(built, disk_dir)


def skip_without(page: str):
    for command in NEEDED.get(page, ()):
        if not shutil.which(command):
            pytest.skip(f"{command} is not installed")
    if page in ("python", "slurm"):
        pytest.importorskip("numpy", reason="numpy is not installed")
    if page == "fortran-mpi":  # what only runs programs of Open MPI, as octave brings it, is taken before MPICH, and has no headers
        shown = subprocess.run(["mpif90", "-show"], capture_output=True, text=True).stdout
        if not any((Path(word[2:]) / "mpif.h").exists() for word in shown.split() if word.startswith("-I")):
            pytest.skip("mpif90 is of an MPI whose headers are not installed")


def group_of(make, mib: int):
    """A control group of that size, or nothing where none can be made: the commands name their memory themselves."""
    return make(mib * MIB) if os.geteuid() == 0 else None


def compare(page: str, step, printed: str):
    assert not step.printed or pages.agrees(printed, step.printed), f"docs/start/{page}.md does not say what came:\n{printed}"


@pytest.mark.parametrize("page", sorted(PAGES - {"container", "slurm"}))
def test_page(shell, memory_group, page):
    skip_without(page)
    group = group_of(memory_group, LIMITS[page])
    for step in pages.steps(START / f"{page}.md"):
        compare(page, step, shell.run(step.commands, group))
    assert group is None or not group.was_killed()


@pytest.mark.parametrize("way", ["unprivileged", "contained"])
def test_container(shell, memory_group, way):
    """As the default profile is told here, and as crun loads Debian's."""
    if way == "contained" and (os.geteuid() or not shutil.which("crun") or not contained.PROFILE.exists()):
        pytest.skip("crun needs root, and is not installed or has no profile of Debian's engines")
    within = (sys.executable, ROOT / "tests" / "system" / "start" / f"{way}.py")
    (step,) = pages.steps(START / "container.md")
    compare("container", step, shell.run(step.commands, group_of(memory_group, LIMITS["container"]), within))


def test_slurm(shell, memory_group):
    """What Slurm does: it reads the size, makes a group of it, and sets variables."""
    skip_without("slurm")
    (step,) = pages.steps(START / "slurm.md")
    shell.run(step.commands)
    job = (shell.folder / "job.sh").read_text()
    mib = int(re.search(r"^#SBATCH --mem=(\d+)M$", job, re.MULTILINE)[1])
    (shell.folder / "tmp").mkdir()
    printed = shell.run("bash job.sh", memory_group(mib * MIB), SLURM_JOB_ID="77", SLURM_CPUS_PER_TASK="2",
                        SLURM_SUBMIT_DIR=str(shell.folder), SLURM_TMPDIR=str(shell.folder / "tmp"), SLURM_MEM_PER_NODE=str(mib))
    compare("slurm", step, printed)
    assert json.loads((shell.folder / "rows-77.json").read_text())["active"]


def test_every_page_has_its_limit_and_stands_in_the_index():
    assert PAGES == set(LIMITS) | {"slurm"}
    index = (START / "index.md").read_text()
    assert not [page for page in PAGES if f"({page}.md)" not in index]
    assert "(docs/start/index.md)" in "".join((ROOT / "README.md").read_text().splitlines(keepends=True)[:30])


def test_pages_are_short():
    """A screen and a half, of sixty lines, without what is pasted as one block."""
    for page in PAGES:
        text = pages.BLOCK.sub("", (START / f"{page}.md").read_text())
        assert len(text.splitlines()) <= 75, page


def test_what_a_page_leaves_out_and_what_differs_each_time():
    said = "a\n...\nb\npagecast: 1.5 s, of which much; ...\n"
    assert pages.agrees("a\nx\ny\nb \npagecast: 22 s, of which nothing\n", said)
    assert pages.agrees("a\nb\npagecast: 3.25 s; the kernel paged the data\n", said)
    assert not pages.agrees("a\nx\nc\npagecast: 22 s, of which nothing\n", said)
    assert not pages.agrees("a\nb\npagecast: it cannot be paged\n", said)
    assert not pages.agrees("a\nb\npagecast: 3.25 s, of\nmore\n", said)
