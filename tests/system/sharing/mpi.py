# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of apps/shared, and MPI to run them with: MPICH where it is, for a machine may have several."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from places import ROOT

APPS = ROOT / "apps" / "shared"
PROGRAMS = ("hf", "vis", "cholesky", "mgrid")
LEAST = {"hf": "600K", "vis": "128K", "cholesky": "512K", "mgrid": "600K"}  # data of a few ranks' work


def found(name: str) -> str:
    path = shutil.which(f"{name}.mpich") or shutil.which(name)
    if not path:
        pytest.skip(f"there is no {name}; apt install mpich libmpich-dev")
    return path


def flags() -> list[str]:
    """What MPI's compiler adds to a line."""
    shown = shlex.split(subprocess.run([found("mpicc"), "-show"], capture_output=True, text=True, check=True).stdout)
    return [flag for flag in shown if flag.startswith(("-I", "-L", "-l"))]


def compiled(built, compiler, name: str) -> Path:
    return built.compile(compiler, APPS / f"{name}.c", "-std=c11", "-D_GNU_SOURCE", "-O3", "-g", *flags(), "-lm")


def launched(count: int, *command) -> list:
    return [found("mpirun"), "-n", count, *command]


def checksum(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0 and "verification: passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"^time: \d*\.\d{3} s$", done.stdout, re.MULTILINE), done.stdout
    return re.search(r"^checksum: ([0-9a-fA-F]{16})$", done.stdout, re.MULTILINE)[1].lower()
