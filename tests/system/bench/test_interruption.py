# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interruptions that come where Python cannot raise: they end a harness all the same."""

import sys
from pathlib import Path

import pytest

from places import ROOT

BEFORE = f"""
import os, signal, sys
sys.path.insert(0, {str(ROOT / "bench")!r})
from harness import interruption, runs, turns
from harness.report import Screen
interruption.install()
made = []
"""
AT_A_FORK = """
class Group:
    def join(self):  # what runs in the child has the hooks of a fork called
        pass
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGTERM))
try:
    runs.run(["sh", "-c", "echo $$ >pid; exec sleep 100"], Group())
except KeyboardInterrupt:
    print("interrupted")
"""
AT_AN_END = """
class Ends:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass
def part():
    made.append(1)
    Ends()
try:
    turns.make([turns.Part("a", part), turns.Part("b", part)], Screen(sys.stderr), lambda: None)
except KeyboardInterrupt:
    print("interrupted after", len(made))
"""


@pytest.mark.parametrize("where, said", [(AT_A_FORK, "interrupted\n"), (AT_AN_END, "interrupted after 1\n")], ids=["fork", "destructor"])
def test_an_interruption_is_not_lost(tools, tmp_path, where, said):
    done = tools.run(sys.executable, "-c", BEFORE + where, cwd=tmp_path, timeout=30)
    assert done.returncode == 0 and done.stdout == said, done.stderr
    left = tmp_path / "pid"
    number = left.read_text().strip() if left.exists() else ""
    # Without a number it was killed before it could say it, or, with an empty file, while it did.
    assert not number or not (Path("/proc") / number).exists()
