# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heaps of other allocators, which reserve memory and commit it in their own ways: what they hold is paged."""

import ctypes.util
import json

import pytest

from paging import BUDGET, optimized, run_paged

# By the name that the loader knows.
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2", "tcmalloc": "libtcmalloc.so.4"}


@pytest.mark.parametrize("allocator", LIBRARIES)
def test_an_allocator_that_is_preloaded_is_paged(built, disk_dir, tmp_path, allocator):
    """Large blocks of every kind, and a fork, through whose handlers the allocator holds its locks."""
    if not ctypes.util.find_library(allocator):
        pytest.skip(f"{LIBRARIES[allocator]} is not installed")
    program = optimized(built, "clang-19", "allocations.c")
    expected = built.run(program)
    assert expected.returncode == 0, expected.stderr
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", program, env={"LD_PRELOAD": LIBRARIES[allocator]}, timeout=60)
    assert done.stdout == expected.stdout
    assert figures["budget"]["peak_bytes"] <= 1.02 * BUDGET and figures["io"]["written_bytes"] > 0


def test_an_allocator_that_is_linked_is_replaced_as_a_whole(built, disk_dir, tmp_path):
    """Blocks are then the C library's, and so is their size, which jemalloc does not know."""
    library = ctypes.util.find_library("jemalloc")
    if not library:
        pytest.skip("libjemalloc.so.2 is not installed")
    source = tmp_path / "sizes.c"
    source.write_text("""#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  for (size_t bytes = 1; bytes < 64 << 20; bytes *= 3) {
    void *p = malloc(bytes);
    if (malloc_usable_size(p) < bytes) return 1;
    free(p);
  }
  return puts("sizes") < 0;
}
""")
    built.run("clang-19", "-fno-builtin", source, "-o", tmp_path / "sizes", f"-l:{library}")
    done, _ = run_paged(built, disk_dir, tmp_path / "stats.json", tmp_path / "sizes")
    assert (done.returncode, done.stdout) == (0, "sizes\n"), done.stderr


def test_reserved_address_space_counts_as_nothing(built, tmp_path):
    """608 MiB are reserved, and 90 committed."""
    program = optimized(built, "clang-19", "reserved.c")
    done = built.run(built.pagecast, "run", "--memory", "256M", "--stats", tmp_path / "stats.json", "--", program)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "stats.json").read_text())["active"] is False


def test_pieces_of_a_heap_are_few_regions(built, disk_dir, tmp_path):
    """640 pieces of 64 KiB: faults that follow each other in them are one stream."""
    program = optimized(built, "clang-19", "reserved.c")
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", program)
    assert figures["budget"]["regions"] < 20


def test_what_the_user_preloads_comes_before_the_runtime(built, tmp_path):
    """So that an allocator is not replaced, and a sanitizer is not refused."""
    done = built.run(built.pagecast, "run", "--", "/bin/sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": "libc.so.6"})
    assert done.stdout.startswith("libc.so.6:/"), done.stderr
