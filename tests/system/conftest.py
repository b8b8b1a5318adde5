# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands that are tested, and what a test may need of the machine. A test that cannot run is skipped with its reason."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from harness.kept_builds import Builds, of_ours  # noqa: E402

# A shell has what it starts in the background ignore it, and what that starts in its turn.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--build", default=str(ROOT / "build"), help="the build tree")


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: counts what the program and the pager do in turns, or changes the machine (swap, the page "
                            "cache): nothing else runs beside it")
    config.addinivalue_line("markers", "few: what it counts bears one other of its kind beside it, and not more")
    config.addinivalue_line("markers", "check: of the fast tier, `make check`")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "house":
            item.add_marker("check")


KEPT = Path("tests") / "programs"  # in the build tree: executables, for all tests


class Tools:
    """The commands of a build, and how to run them."""

    def __init__(self, build: Path):
        self.build = build
        self.pagecast = build / "bin" / "pagecast"
        self.command = build / "lib" / "pagecast" / "pagecast"  # what the file above becomes
        self.cc = build / "bin" / "pagecast-cc"
        self.cxx = build / "bin" / "pagecast-c++"
        self.plugin = build / "lib" / "pagecast" / "pagecast-llvm19.so"
        self.runtime = build / "lib" / "libpagecast.so"
        self._builds = None

    def run(self, *command, env: dict | None = None, input: str | None = None, cwd=None,
            timeout: float = 120) -> subprocess.CompletedProcess:
        """The environment is the test's, without variables of ours that the user may have set."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
        return subprocess.run([str(c) for c in command], capture_output=True, text=True, input=input, cwd=cwd,
                              timeout=timeout, env={**clean, **(env or {})})

    def succeed(self, *command) -> subprocess.CompletedProcess:
        done = self.run(*command)
        assert done.returncode == 0, done.stderr
        return done

    def compile(self, compiler, source: Path, *flags) -> Path:
        """The executable of a source, compiled once for all tests. It belongs to all of them: who changes it copies it."""
        return self._kept().compile(self.succeed, compiler, source, *flags)

    def output(self, program: Path, *arguments) -> str:
        """What an executable of `compile` prints without us, run once for all tests."""
        return self._kept().output(self.succeed, program, *arguments)

    def _kept(self) -> Builds:
        if not self._builds:
            self._builds = Builds(self.build / KEPT, of_ours(self.build))
        return self._builds


@pytest.fixture(autouse=True)
def untimed(monkeypatch, request):
    """Harnesses drop the machine's page cache before each run: not beside other tests, some of which count what is cached. And
    what they have compiled is kept for all of them."""
    monkeypatch.setenv("HARNESS_WARM", "1")
    monkeypatch.setenv("HARNESS_BUILDS", str(Path(request.config.getoption("--build")).resolve() / KEPT))


@pytest.fixture(scope="session")
def tools(request) -> Tools:
    tools = Tools(Path(request.config.getoption("--build")).resolve())
    assert tools.pagecast.exists(), f"{tools.pagecast} is missing: run make build"
    return tools


@pytest.fixture(scope="session")
def built(tools) -> Tools:
    """Tools with which programs can be compiled and linked."""
    for file in (tools.plugin, tools.runtime):
        assert file.exists(), f"{file} is missing: run make build"
    return tools


@pytest.fixture
def memory_group():
    """A function that makes a memory control group which lasts as long as the test."""
    import contextlib

    from harness.limits import MemoryGroup, Unavailable

    if os.geteuid() != 0:
        pytest.skip("a memory control group needs root")
    with contextlib.ExitStack() as stack:
        def make(limit: int, swap: bool = False) -> MemoryGroup:
            try:
                return stack.enter_context(MemoryGroup(limit, swap))
            except Unavailable as reason:
                pytest.skip(str(reason))
        yield make


@pytest.fixture
def hello_source(tmp_path) -> Path:
    source = tmp_path / "hello.c"
    source.write_text('#include <stdio.h>\nint main(int n, char **v) {\n  puts(n > 1 ? v[1] : "hello");\n  return n > 2;\n}\n')
    return source


@pytest.fixture
def disk_dir():
    """A fresh directory on a disk: /tmp, where tests usually write, lives in memory on some machines."""
    import shutil
    import tempfile
    path = Path(tempfile.mkdtemp(prefix="pagecast-test-", dir="/var/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
