# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What hints are worth: what small programs read, write and wait for within their budget. Counts of what comes first, the program
or the pager, are taken with nothing else under way."""

import os

import pytest

from places import ROOT
from paging import BUDGET, SOURCES, optimized, run_paged

pytestmark = pytest.mark.few
ALONE = pytest.mark.alone  # its slice stays ahead of the program only if it finds a processor free


@pytest.mark.parametrize("how", ["near", "threads", "far"])
def test_searches_that_end_where_they_begin_are_passed_over(built, disk_dir, tmp_path, how):
    plain = optimized(built, "clang-19", "often.c")
    hinted = optimized(built, built.cc, "often.c")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, how)
    assert done.stdout == built.output(plain, how)
    hits = sum(int(line.split()[1]) for line in done.stdout.splitlines())
    hints = figures["hints"]
    if how == "far":  # its negative twin: each search goes through half a megabyte
        for _ in range(2):  # how many are declined is the pager's speed: it frees their slots
            assert hints["nests_passed_over"] == 0
            if hints["nests_declined"] < 0.05 * hits:
                break
            _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, how)
            hints = figures["hints"]
        assert hints["nests_passed_over"] == 0 and hints["nests_declined"] < 0.05 * hits
        assert hints["nests_opened"] + hints["nests_filtered"] + hints["nests_declined"] >= hits > 100
        assert figures["faults"]["prefetched_hit"] > 10 * figures["faults"]["not_prefetched"]
        return
    assert hits > 3_000_000
    assert hints["nests_opened"] < 0.002 * hits
    assert hints["nests_passed_over"] > 0.5 * hits  # how many are declined is the pager's speed: it frees their slots


@pytest.mark.parametrize("how", ["near", "far"])
def test_short_nests_that_ask_for_nothing_are_passed_over(built, disk_dir, tmp_path, how):
    plain = optimized(built, "clang-19", "shorts.c")
    hinted = optimized(built, built.cc, "shorts.c")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, how)
    assert done.stdout == built.output(plain, how)
    hints = figures["hints"]
    if how == "far":  # its negative twin: most of what each of them wants is not in memory
        assert hints["nests_passed_over"] == 0
        assert hints["slice_hints"] > 10_000
        return
    assert hints["nests_passed_over"] > 3_000  # of 10,000: the last gap is not counted before it is over
    assert hints["nests_opened"] + hints["nests_filtered"] + hints["nests_declined"] < 1_000


def test_releases_at_once_give_up_what_the_next_row_reads(built, disk_dir, tmp_path):
    hinted = built.compile(built.cc, ROOT / "apps" / "matvec" / "matvec.c", "-O3")
    read = {}
    for release in ("aggressive", "buffered"):
        _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, "--memory-size", "96M", options=("--release", release))
        read[release] = figures["io"]["read_bytes"]
    assert read["aggressive"] > 1.5 * read["buffered"]  # a row is as long as the vector


def test_pages_to_be_overwritten_are_not_read(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "overwrite.c")
    read = {}
    for overwrite in ("0", "1"):
        _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, memory="16M", env={"PAGECAST_OVERWRITE": overwrite})
        assert (figures["hints"]["overwritten_pages"] > 0) == (overwrite == "1")
        assert sum(s["overwritten"] for s in figures["sites"]) == figures["hints"]["overwritten_pages"]
        read[overwrite] = figures["io"]["read_bytes"]
    assert read["1"] < 0.8 * read["0"]


@pytest.mark.parametrize("length, memory", [("500", "16M"), ("20", "32M")], ids=["narrow", "a tenth of the rows"])
def test_margins_of_rows_are_kept_so_that_pages_need_not_be_read(built, disk_dir, tmp_path, length, memory):
    plain = optimized(built, "clang-19", "margins.c")
    hinted = optimized(built, built.cc, "margins.c")
    expected = built.output(plain, length)
    read = {}
    for overwrite in ("0", "1"):
        done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, length, memory=memory,
                                  env={"PAGECAST_OVERWRITE": overwrite})
        assert done.stdout == expected
        read[overwrite] = figures["io"]["read_bytes"]
    assert figures["hints"]["overwritten_pages"] > 4000  # no row is as long as a page
    # Wide margins take some of the memory that pages would have: that must not cost more than they save.
    assert read["1"] < (0.8 if length == "500" else 1.2) * read["0"]


def test_what_is_read_beside_a_nest_is_compared_with_what_it_overwrites(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "beside.c")
    overwritten = {}
    for where in ("apart", "overlapping"):
        _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, where, memory="16M")
        overwritten[where] = sum(s["overwritten"] for s in figures["sites"] if s["function"].startswith("smooth"))
    assert overwritten["apart"] > 10000  # of 23000 or so in four sweeps
    assert overwritten["overlapping"] == 0


def test_first_stores_down_a_column_are_foreseen_like_a_rows(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "mirror.c")
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, "4000", memory="64M")
    # Of 31,250 pages that were never stored to before 28,700 are filled ahead; 6,900 where the nest is believed in that covers
    # them, but foresees the diagonal alone.
    assert figures["faults"]["zero_fill_hit"] > 3 * figures["faults"]["zero_fill_fault"]


def test_loops_that_cannot_be_split_are_left_to_what_faults_foretell(built, disk_dir, tmp_path):
    """A step of the loop around them is all that they touch, several times the memory."""
    hinted = built.compile(built.cc, SOURCES["unsplit.c"], "-Oz")  # leaves tests at the heads of loops
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    faults = figures["faults"]
    assert figures["hints"]["nests_opened"] >= 1
    assert faults["prefetched_hit"] >= 20000
    assert faults["not_prefetched"] <= faults["prefetched_hit"] / 20


def test_pages_that_may_stay_are_not_written(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "sweeps.c")
    megabytes = 28
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, megabytes, input="r\n" * 3)
    io = figures["io"]
    # Read again and again, most of what was stored once stays where it is: what goes first, goes each time. It is written in
    # blocks, with neighbours that may stay; how many depends on how far ahead of the program the pager is: 0.61 to 0.75 of the
    # array, and 0.84 to 0.86 on a disk of 100 MB/s.
    assert io["written_bytes"] < 0.9 * (megabytes << 20)
    assert io["read_bytes"] < 1.6 * (megabytes << 20), "of the 4 times that are read"


def test_what_is_not_wanted_again_makes_room(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "stale.c")
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    # `given`, 24 MiB, must be read again each time but for what stays of it; `made`, 10 MiB, may stay: 71 to 84 MiB, and 123
    # to 126 where `old` stays.
    assert figures["io"]["read_bytes"] < 100 << 20


def test_slices_rest_while_all_is_resident_and_notice_a_change(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "changing.c")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    [site] = [s for s in figures["sites"] if s["indirect"]]
    cold, demanded = int(done.stdout.split()[0]), figures["faults"]["not_prefetched"]
    assert site["backed_off"] > 5 * site["probes"] > 0
    assert site["hit"] + site["late"] + demanded > 0.7 * cold, "the test tests something"
    assert demanded < 0.1 * (site["hit"] + site["late"] + demanded)
    assert site["hit"] >= 0.8 * site["prefetched"]


@ALONE
def test_buckets_are_filled_before_the_program_comes_to_them(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "buckets.c")

    def run_with(slices):
        _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, env={"PAGECAST_SLICES": slices})
        faults = figures["faults"]
        assert faults["zero_fill_fault"] + faults["zero_fill_hit"] > 24 << 8, "48 MiB of keys, and as much of buckets"
        return faults["zero_fill_fault"], figures["io"]

    without, io_without = run_with("0")
    faulted, io = run_with("1")
    assert faulted < without / 2
    for each in (io_without, io):
        assert each["read_bytes"] < 160 << 20, "pages filled too early would be written, and read again"
    # 64 KiB and more in nine of ten runs; of what a stream of faults has passed, some goes by itself.
    assert io["written_bytes"] > io["writes"] * (40 << 10), "what a bucket has finished goes in blocks"


def test_columns_that_look_at_their_neighbours_are_read_once(built, disk_dir, tmp_path):
    flags = ("-DROWS=1500", "-DCOLUMNS=2400")
    plain = optimized(built, "clang-19", "columns.c", *flags)
    hinted = optimized(built, built.cc, "columns.c", *flags)
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    assert done.stdout == built.output(plain)
    data = 2 * 1500 * 2400 * 8
    assert figures["io"]["read_bytes"] < 3 * data, "three walks over one array each; if rows did not stay, a thousand times that"


def test_where_a_step_is_more_than_memory_its_loops_are_hinted(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "eliminate.c", "-g")
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    line = 1 + SOURCES["eliminate.c"].read_text().splitlines().index("      for (long i = k; i < N; i++) a[j][i] -= s * a[k][i];")
    found = sum(s["prefetched"] + s["late"] for s in figures["sites"] if s["line"] == line and not s["indirect"])
    assert found > figures["faults"]["prefetched_hit"] / 2, "by hints, not by what the faults foretell"
    assert figures["faults"]["not_prefetched"] < 2200, "a fault for less than one row in five"


def test_levels_that_take_turns_and_sweeps_in_all_directions_are_hinted(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "levels.c")
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    assert figures["hints"]["nests_opened"] >= 4, "one for each step in time"
    assert figures["faults"]["not_prefetched"] < figures["faults"]["prefetched_hit"] / 50


def test_neighbours_in_a_periodic_domain_are_hinted_without_slices(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "periodic.c", "-gline-tables-only")
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    planes = [s for s in figures["sites"] if s["function"] in ("by_tests", "by_corrections")]
    assert sum(s["prefetched"] for s in planes) > 10000, "of 35000 that the four sweeps over a plane read"
    assert not any(s["indirect"] for s in planes)
    assert figures["faults"]["not_prefetched"] < figures["faults"]["prefetched_hit"] / 50


def test_rows_that_are_allocated_one_by_one_are_paged(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cxx, "many_rows.cpp")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    assert done.stdout.splitlines()[2] == "0 wrong"
    assert figures["budget"]["region_bytes"] >= 2 * 1500 * 2501 * 8 - BUDGET / 8  # the first ones are the C library's
    assert figures["hints"]["prefetched_pages"] * 4096 >= 100 << 20


@ALONE
def test_what_searches_begin_with_is_prefetched(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "searches.c", "-gline-tables-only")
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    read = {f: sum(s["prefetched"] for s in figures["sites"] if s["function"] == f) for f in ("insert", "find", "join")}
    assert read["insert"] > 8000 and read["find"] > 6000 and read["join"] > 12000  # 12000 lookups; join: in three arrays
    assert figures["faults"]["not_prefetched"] < 1000


@ALONE
def test_what_one_iteration_tells_the_next_is_foreseen(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "generators.c", "-gline-tables-only")
    # What is foreseen of mostly_near saves little here, and trials may find that it does not pay.
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, options=("--option", "slice_trials=0"))
    read = {f: sum(s["prefetched"] for s in figures["sites"] if s["function"] == f) for f in ("update", "count", "mostly_near")}
    assert sum(s["trials"] + s["switched_off"] for s in figures["slices"]) == 0
    source = SOURCES["generators.c"].read_text().splitlines()
    assert figures["slices"] and all("for (" in source[s["line"] - 1] for s in figures["slices"]), "where its nest begins"
    assert read["update"] > 10000 and read["count"] > 25000  # of 40000 places, the first ones of update near each other
    # Of 8000; none where it is not foreseen. While it finds all in memory it is ahead of its slice: by how much is the machine's.
    assert read["mostly_near"] > 300
    assert figures["faults"]["not_prefetched"] < 12000


@ALONE
def test_what_is_in_queues_is_prefetched(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cxx, "queues.cpp", "-gline-tables-only")
    # Of pages that wait compressed a third more are still there, for which nothing is prefetched.
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted, options=("--option", "compress=0"))
    read = {f: sum(s["prefetched"] for s in figures["sites"] if f in s["function"]) for f in ("search", "visit", "by_levels")}
    # Of 50,000, 12,000 and 12,000; what has just been added is needed at once, and one level is large enough for hints.
    assert read["search"] > 30000 and read["visit"] > 7000 and read["by_levels"] > 4000
    assert figures["faults"]["not_prefetched"] < 45000  # 80,000 where the queue is not foreseen


def test_hints_that_go_astray_leave_the_program_to_its_streams(built, disk_dir, tmp_path):
    plain = optimized(built, "clang-19", "astray.c")
    hinted = optimized(built, built.cc, "astray.c")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    assert done.stdout == built.output(plain)
    # Of 80,000 pages. Without, most of those of all rounds but the first: 32,000.
    assert figures["faults"]["not_prefetched"] < 8000


@ALONE
def test_where_searches_go_is_prefetched(built, disk_dir, tmp_path):
    plain = optimized(built, "clang-19", "sorted.c")
    hinted = optimized(built, built.cc, "sorted.c", "-gline-tables-only")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    assert done.stdout == built.output(plain)
    read = {f: sum(s["prefetched"] for s in figures["sites"] if s["function"] == f) for f in ("sorted", "descend", "listed")}
    assert min(read.values()) > 6000  # lookups, each of which comes to two pages or more that are not in memory
    assert figures["faults"]["not_prefetched"] < 3000  # 50,000 where only the first place is known


def test_few_long_rows_are_hinted_and_rows_that_are_copied(built, disk_dir, tmp_path):
    hinted = optimized(built, built.cc, "diagonals.c", "-g")
    _, figures = run_paged(built, disk_dir, tmp_path / "stats.json", hinted)
    found = figures["faults"]["prefetched_hit"] + figures["faults"]["late"]
    of_streams = sum(s["prefetched"] for s in figures["sites"] if s["name"] == "history")
    assert found > 3 * 9 * 600000 * 8 // os.sysconf("SC_PAGE_SIZE") / 2, "the matrix, three times, but for what stays"
    assert of_streams < found / 10, "by hints, not by what the faults foretell"
    assert figures["faults"]["not_prefetched"] < found / 50
