# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slow storage for a test, and running a program beside it with and without speculation."""

import contextlib
import json
import os
import subprocess
from pathlib import Path

import pytest

import slow


class Speculation:
    """Runs programs plainly and under `pagecast speculate`."""

    def __init__(self, tools, home: Path):
        self._tools, self._stats = tools, home / "speculate.json"

    def plain(self, *command, **how) -> subprocess.CompletedProcess:
        return subprocess.run([str(c) for c in command], capture_output=True, timeout=120, **how)

    def command(self, *command, stats: bool = True) -> list[str]:
        options = ["--stats", str(self._stats)] if stats else []
        return [str(self._tools.pagecast), "speculate", *options, "--", *(str(c) for c in command)]

    def run(self, *command, **how) -> subprocess.CompletedProcess:
        """In a session of its own: the kernel shares processors among sessions first, so that a copy, which has idle priority, gets
        its time beside other tests."""
        self._stats.unlink(missing_ok=True)
        return subprocess.run(self.command(*command), capture_output=True, timeout=120, start_new_session=True, **how)

    def figures(self) -> dict:
        figures = json.loads(self._stats.read_text())
        assert figures["finished"]
        return figures


@pytest.fixture
def speculation(tools, tmp_path) -> Speculation:
    return Speculation(tools, tmp_path)


@pytest.fixture
def storage(tools, tmp_path):
    """A function that makes a directory slow for the rest of the test. Each call is a new mount: nothing is cached."""
    if os.geteuid() != 0:
        pytest.skip("slow storage is mounted: that needs root")
    with contextlib.ExitStack() as stack:
        made, asked = [], []

        def make(directory: Path, servers: int = 4, milliseconds: float = 2, **how) -> Path:
            stack.pop_all().close()  # one at a time, always at the same place: names are part of what programs print
            try:
                made.append(stack.enter_context(slow.slow_storage(tools.build, directory, tmp_path / "slow", servers, milliseconds, asked, **how)))
            except slow.Unavailable as reason:
                pytest.skip(str(reason))
            return made[-1]

        def close() -> dict:
            """What the last one was asked for."""
            stack.pop_all().close()
            return asked[-1]
        make.close = close
        yield make
