# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heaps of other allocators, which reserve memory and commit it in their own ways: what they hold is paged."""

import ctypes.util
import json
import subprocess
from pathlib import Path

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


LINKED = """#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
struct item { struct item *next; long number, unused[4]; };
int main(void) {
  struct item *first = NULL;
  for (long i = 0; i < 1500000; i++) {
    struct item *new = malloc(sizeof *new);
    *new = (struct item){first, i, {0}};
    first = new;
  }
  for (size_t bytes = 1; bytes < 64 << 20; bytes *= 3) {
    void *p = malloc(bytes);
    if (malloc_usable_size(p) < bytes) return 1;
    free(p);
  }
  long sum = 0;
  for (struct item *p = first; p; p = p->next) sum += p->number;
  return printf("%ld\\n", sum) < 0;
}
"""


@pytest.mark.parametrize("allocator", LIBRARIES)
def test_of_an_allocator_that_is_linked_small_objects_are_paged(built, disk_dir, tmp_path, allocator):
    """The program keeps its allocator, which knows the sizes of its blocks."""
    library = ctypes.util.find_library(allocator)
    if not library:
        pytest.skip(f"{LIBRARIES[allocator]} is not installed")
    (tmp_path / "linked.c").write_text(LINKED)
    built.run("clang-19", "-fno-builtin", tmp_path / "linked.c", "-o", tmp_path / "linked", f"-l:{library}")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", tmp_path / "linked")
    assert (done.returncode, done.stdout) == (0, f"{1500000 * 1499999 // 2}\n"), done.stderr
    assert figures["io"]["written_bytes"] > 16 << 20 and figures["budget"]["peak_bytes"] <= 1.02 * BUDGET


def test_small_blocks_of_the_c_library_are_paged(built, disk_dir, tmp_path):
    """Lists of blocks that are smaller than a page, through a fork, threads, and system calls that store into such blocks."""
    program = optimized(built, "clang-19", "small_blocks.c", "-fno-builtin")
    expected = built.run(program)
    assert expected.returncode == 0, expected.stderr
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", program, timeout=60)
    assert done.stdout == expected.stdout
    assert figures["io"]["written_bytes"] > 8 << 20 and figures["budget"]["peak_bytes"] <= 1.02 * BUDGET
    done = built.run(built.pagecast, "run", "--memory", str(BUDGET), "--option", "rows=0", "--stats", tmp_path / "none.json", "--", program)
    assert done.stdout == expected.stdout and not json.loads((tmp_path / "none.json").read_text())["active"], "not where that is not wanted"


def test_a_program_that_takes_the_address_of_malloc_has_no_heap_of_its_own(built, tmp_path):
    """At a fixed address, as Debian's python3 is: looking malloc up finds the program's jump to it."""
    (tmp_path / "fixed.c").write_text("#include <stdlib.h>\nint main(void) { void *(*volatile allocate)(size_t) = malloc; return !allocate(9); }\n")
    built.run("clang-19", "-fno-pic", "-no-pie", tmp_path / "fixed.c", "-o", tmp_path / "fixed")
    found = [line.split() for line in built.run("readelf", "--dyn-syms", "-W", tmp_path / "fixed").stdout.splitlines() if " malloc@" in line]
    assert len(found) == 1 and found[0][6] == "UND" and int(found[0][1], 16), "malloc's address is one of the program's"
    done = built.run(built.pagecast, "run", "--stats", tmp_path / "stats.json", "--", tmp_path / "fixed")
    assert done.returncode == 0 and json.loads((tmp_path / "stats.json").read_text())["why_not"] == "large data fit in the budget"


def test_the_runtime_looks_into_no_table_of_the_loader(built):
    """These are in the program's heap, which is paged, where libraries were loaded by the program itself. Octave hung so."""
    flags = built.run("readelf", "-d", built.pagecast.parents[1] / "lib" / "libpagecast.so").stdout
    assert "BIND_NOW" in flags


def share_of(figures) -> float:
    """Of the limit, what holds the program's pages, those on the shelf included."""
    budget = figures["budget"]
    return budget["program_share"] + budget["overhead"]["shelf"] / budget["limit_bytes"]


def test_a_program_of_small_blocks_alone_is_not_killed(built, disk_dir, memory_group, tmp_path):
    """92 MiB in a group of 48."""
    (tmp_path / "small.c").write_text(LINKED)
    program = built.compile("clang-19", tmp_path / "small.c", "-O2", "-fno-builtin")
    command = [built.pagecast, "run", "--backing", disk_dir, "--stats", tmp_path / "stats.json", "--", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=memory_group(48 << 20).join)
    assert (done.returncode, done.stdout) == (0, f"{1500000 * 1499999 // 2}\n"), done.stderr
    assert share_of(json.loads((tmp_path / "stats.json").read_text())) > 0.7


def test_of_small_blocks_few_are_left_where_they_cannot_be_paged(built, disk_dir, tmp_path):
    """92 MiB, of which the C library would have more than a MiB before the rest is paged."""
    begin, end = LINKED.index("  for (size_t bytes"), LINKED.index("  long sum")
    (tmp_path / "small.c").write_text(LINKED[:begin] + LINKED[end:])
    program = built.compile("clang-19", tmp_path / "small.c", "-O2", "-fno-builtin")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", program, timeout=60)
    assert done.stdout == f"{1500000 * 1499999 // 2}\n"
    assert figures["budget"]["most_region_bytes"] > 1500000 * 64 - (3 << 19)


def test_small_blocks_of_several_threads_are_not_killed(built, disk_dir, memory_group, tmp_path):
    """4 times 23 MiB in a group of 48, each in heaps of its own."""
    program = optimized(built, "clang-19", "arenas.c", "-fno-builtin")
    command = [built.pagecast, "run", "--backing", disk_dir, "--stats", tmp_path / "stats.json", "--", program, "300000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=memory_group(48 << 20).join)
    assert (done.returncode, done.stdout) == (0, built.output(program, "300000")), done.stderr
    figures = json.loads((tmp_path / "stats.json").read_text())
    assert figures["io"]["written_bytes"] > 16 << 20 and share_of(figures) > 0.7


def test_threads_that_allocate_while_others_fork_do_not_wait_for_each_other(built, disk_dir, tmp_path):
    """One that waits for a page in malloc has a lock that fork takes after the pager has been stopped."""
    program, arguments = optimized(built, "clang-19", "arenas.c", "-fno-builtin"), ("150000", "2")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", program, *arguments, timeout=60, env={"MALLOC_ARENA_MAX": "1"})
    assert done.stdout == built.output(program, *arguments)
    assert figures["io"]["written_bytes"] > 8 << 20


def test_what_a_program_is_linked_with_comes_before_the_runtime(built, tmp_path):
    """If it has a malloc; a program without one of its own gets the runtime alone."""
    (tmp_path / "own.c").write_text("#include <stddef.h>\nstatic char heap[1 << 20];\nstatic size_t used;\n"
                                    "void *malloc(size_t n) { return heap + (used += (n + 15) & ~15ul) - ((n + 15) & ~15ul); }\n"
                                    "void free(void *p) { (void)p; }\n")
    (tmp_path / "main.c").write_text('#include <stdlib.h>\n#include <unistd.h>\nint main(void) { '
                                     'const char *p = getenv("LD_PRELOAD"); size_t n = 0; while (p[n]) n++; return write(1, p, n) < 0; }\n')
    assert built.run("clang-19", "-shared", "-fPIC", tmp_path / "own.c", "-o", tmp_path / "libown.so").returncode == 0
    for flags, before in ((("-Wl,--no-as-needed", tmp_path / "libown.so"), f"{tmp_path}/libown.so:"), ((), "")):
        assert built.run("clang-19", tmp_path / "main.c", "-o", tmp_path / "main", *flags).returncode == 0
        done = built.run(built.pagecast, "run", "--", tmp_path / "main")
        assert done.stdout.startswith(f"{before}/") and "libpagecast.so" in done.stdout, done.stderr
        assert done.stdout.count(":") == bool(before)


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
