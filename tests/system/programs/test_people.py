# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts as people write them, on small data: the output that they have in core. `make people` runs all on large data."""

import importlib.util
import shutil
import sys

import pytest

from paging import run_paged
from places import ROOT

MIB = 1 << 20
SCRIPTS = {"numpy_sweeps.py": sys.executable, "r_tables.R": "Rscript", "octave_arrays.m": "octave-cli"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_same_output(built, disk_dir, tmp_path, script):
    interpreter = SCRIPTS[script]
    if not shutil.which(interpreter):
        pytest.skip(f"{interpreter} is not installed")
    if script.endswith(".py") and not importlib.util.find_spec("numpy"):
        pytest.skip("numpy is not installed")
    command = (interpreter, ROOT / "tests" / "people" / script, str(36 * MIB))
    expected = built.run(*command)
    assert expected.returncode == 0 and expected.stdout, expected.stderr
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", *command, memory=16 * MIB)
    assert done.stdout == expected.stdout
    assert figures["io"]["written_bytes"] > 0
