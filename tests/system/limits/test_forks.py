# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A parent and its children in one control group store to what they share since a fork, which the kernel copies then. None is killed,
where the data of one of them alone are more than the group may hold, and there is no swap."""

import subprocess
import sys
from pathlib import Path

import pytest

MIB = 1 << 20
WORKERS = """
import multiprocessing

data = bytearray(64 << 20)
for i in range(0, len(data), 4096):
    data[i] = i >> 12 & 255

def work(k):
    for i in range(0, len(data), 4096):
        data[i] = data[i] + k & 255
    return sum(data[i] for i in range(0, len(data), 4096))

with multiprocessing.get_context("fork").Pool(4) as pool:
    print(pool.map(work, range(4), chunksize=1), work(9))
"""


def run_in(tools, memory_group, mib: int, *command, env=None, disk_dir):
    group = memory_group(mib * MIB)
    done = subprocess.run([tools.pagecast, "run", "--backing", disk_dir, "--", *command], capture_output=True, text=True, timeout=300,
                          preexec_fn=group.join, env=env)
    assert not group.was_killed(), done.stderr[-500:]
    return done


@pytest.mark.parametrize("how", [(64, 1, 1, 1), (48, 4, 4, 0), (48, 4, 1, 1)], ids=["two", "parts", "all"])
def test_who_stores_to_what_a_fork_shares_is_not_killed(tools, memory_group, disk_dir, how):
    program = tools.compile("clang-19", Path(__file__).parent / "forks.c", "-O2")
    done = run_in(tools, memory_group, 32, program, *map(str, how), disk_dir=disk_dir)
    assert (done.returncode, done.stdout) == (0, tools.output(program, *map(str, how))), done.stderr[-500:]


def test_a_parent_that_fits_has_children_that_do_not(tools, memory_group, disk_dir):
    """What the parent holds needs no paging: it begins at the fork, and makes room before the children have the same pages."""
    program = tools.compile("clang-19", Path(__file__).parent / "forks.c", "-O2")
    done = run_in(tools, memory_group, 48, program, "24", "4", "1", "0", disk_dir=disk_dir)
    assert (done.returncode, done.stdout) == (0, tools.output(program, "24", "4", "1", "0")), done.stderr[-500:]


def test_workers_of_a_pool_are_not_killed(tools, memory_group, disk_dir):
    expected = subprocess.run([sys.executable, "-c", WORKERS], capture_output=True, text=True, check=True).stdout
    done = run_in(tools, memory_group, 56, sys.executable, "-c", WORKERS, disk_dir=disk_dir)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr[-500:]
