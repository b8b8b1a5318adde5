# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Java programs: the virtual machine's heap is paged, whichever collector it has. Its own ways of committing memory are those of
memory/reserved.c, too, which needs no package."""

import shutil

import pytest

from paging import run_paged
from places import ROOT

MIB = 1 << 20
MEMORY = 40 * MIB
SOURCE = ROOT / "tests" / "system" / "programs" / "heaps" / "Arrays.java"
# Neither sharing classes nor compiling well is worth the time of a test.
JAVA = ("java", "-Xmx120m", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=16m")


@pytest.fixture(scope="module")
def classes(built, tmp_path_factory):
    if not shutil.which("javac"):
        pytest.skip("javac is not installed: openjdk-17-jdk-headless")
    folder = tmp_path_factory.mktemp("classes")
    built.succeed("javac", "-d", folder, SOURCE)
    return folder


@pytest.mark.parametrize("collector", ["Serial", "G1"])
def test_a_heap_of_three_times_the_memory_is_paged(built, classes, disk_dir, tmp_path, collector):
    command = (*JAVA, f"-XX:+Use{collector}GC", "-cp", classes, "Arrays", "36")
    expected = built.succeed(*command)
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", *command, memory=MEMORY, timeout=60)
    assert done.stdout == expected.stdout and done.stdout.endswith("caught\n" * 3)
    assert figures["io"]["written_bytes"] > 16 * MIB and figures["budget"]["peak_bytes"] <= 1.02 * MEMORY
