# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in Go: with C in them their heap is paged, and without it they run as they are."""

import os
import shutil

import pytest

from paging import run_paged
from places import ROOT

MIB = 1 << 20
SOURCE = ROOT / "tests" / "system" / "programs" / "heaps" / "arrays.go"


@pytest.fixture(scope="module")
def compiled(built, tmp_path_factory):
    """A function of whether the program has C in it."""
    if not shutil.which("go") or not shutil.which("gcc"):
        pytest.skip("go or gcc is not installed: golang-go")
    folder = tmp_path_factory.mktemp("go")

    def made(with_c: bool):
        source, binary = folder / f"arrays{with_c:d}.go", folder / f"arrays{with_c:d}"
        text = SOURCE.read_text()
        source.write_text(text if with_c else text.replace('import "C"\n', "").replace("C.twice(21)", "42"))
        environment = {"GOCACHE": str(built.build / "go-cache"), "GOPATH": str(folder), "GOTOOLCHAIN": "local", "GO111MODULE": "off",
                       "HOME": str(folder), "PATH": os.environ["PATH"]}
        done = built.run("go", "build", "-o", binary, source, env={**environment, "CGO_ENABLED": f"{with_c:d}"}, timeout=300)
        assert done.returncode == 0, done.stderr
        return binary
    return made


def test_a_heap_of_three_times_the_memory_is_paged_where_there_is_c(built, compiled, disk_dir, tmp_path):
    command = (compiled(True), "48")
    expected = built.succeed(*command)
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", *command, memory=16 * MIB, timeout=60)
    assert done.stdout == expected.stdout
    assert figures["active"] and figures["io"]["written_bytes"] > 8 * MIB


def test_without_c_it_runs_as_it_is(built, compiled, disk_dir):
    command = (compiled(False), "24")
    done = built.run(built.pagecast, "run", "--memory", "16M", "--backing", disk_dir, "--", *command)
    assert (done.returncode, done.stdout) == (0, built.succeed(*command).stdout)
    assert "static" in done.stderr
