# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sources are as clang-format leaves them."""

import shutil
import subprocess

import pytest

from places import ROOT


def test_sources_are_formatted():
    command = shutil.which("clang-format-19")
    if not command:
        pytest.skip("clang-format-19 is not installed")
    kept = [ROOT / d for d in ("cli", "compiler", "core", "nbd", "runtime", "simulator", "speculate", "storage", "tests/slow_disk", "tests/unit")]
    files = [f for d in kept for suffix in ("*.cpp", "*.h", "*.c") for f in d.rglob(suffix)]
    assert len(files) > 300
    done = subprocess.run([command, "--dry-run", "-Werror", *files], capture_output=True, text=True)
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "error:" in line)
