# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The manual lists the options that the runtime has."""

import subprocess
import sys

from places import ROOT


def test_manual_has_the_table_of_options(built):
    done = subprocess.run([sys.executable, ROOT / "docs" / "manual.py", built.runtime, "--check"])
    assert done.returncode == 0, "docs/options.md differs from runtime/state/options.def: run `make manual`"
