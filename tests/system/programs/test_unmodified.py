# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that were not compiled with pagecast: pagecast run pages them, and fetches by the history of their faults."""

import platform
import sys

from pathlib import Path

import pytest

from paging import BUDGET, optimized, run_paged

NUMPY = """
import numpy as np
n = (72 << 20) // 24
a, b, c = np.arange(n, dtype=np.float64), np.full(n, 0.5), np.empty(n)
for turn in range(2):
    np.multiply(a, 3.0, out=c)
    c += b
    print(c.sum(), c[::-1][:n // 2].sum())
"""

pytestmark = pytest.mark.few


def kernel_version() -> tuple[int, ...]:
    return tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])


@pytest.fixture
def streams(built):
    return optimized(built, "clang-19", "streams.c")


def run_unmodified(built, disk_dir, tmp_path, *command, options=()):
    """The statistics of a run under the budget, after comparing its output with that of a run without it."""
    expected = built.run(*command)
    assert expected.returncode == 0, expected.stderr
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", *command, options=options, timeout=300)
    assert done.stdout == expected.stdout
    assert done.stderr == "" and figures["compiled"] is False
    assert figures["budget"]["peak_bytes"] <= 1.02 * BUDGET
    return figures


def history(figures) -> dict:
    return next((s for s in figures["sites"] if s["name"] == "history"), {"prefetched": 0, "hit": 0, "unused": 0})


def hit_share(figures) -> float:
    faults = figures["faults"]
    return faults["prefetched_hit"] / sum(faults[k] for k in ("prefetched_hit", "late", "not_prefetched"))


def test_streams_are_prefetched(built, disk_dir, tmp_path, streams):
    figures = run_unmodified(built, disk_dir, tmp_path, streams)
    faults = figures["faults"]
    # What a stream asked for may still come while the statistics are written: a window at most.
    assert abs(history(figures)["hit"] - faults["prefetched_hit"]) <= 512
    assert hit_share(figures) > 0.9
    # Of 18,432 pages that were never stored to the pager fills all but some hundreds before the program comes, and 14,900
    # where it gets little of the processor; without history none.
    assert faults["zero_fill_hit"] > faults["zero_fill_fault"]


@pytest.mark.parametrize("stores", [True, False])
def test_counts_by_key_fault_once_a_page(built, disk_dir, tmp_path, stores):
    counting = optimized(built, "clang-19", "counting.c")
    figures = run_unmodified(built, disk_dir, tmp_path, counting, *(["stores"] if stores else []))
    faults = figures["faults"]
    assert faults["not_prefetched"] > 4000
    if stores:
        assert faults["stores_expected"] > 0.8 * faults["not_prefetched"]
        assert faults["protect"] < faults["not_prefetched"] / 5
    else:
        assert faults["stores_expected"] == 0
        assert figures["io"]["written_bytes"] < 80 << 20  # what was stored at first


@pytest.mark.skipif(kernel_version() < (5, 18), reason="Linux before 5.18 tells pages only, not places in them")
def test_columns_of_rows_that_are_not_whole_pages(built, disk_dir, tmp_path, streams):
    figures = run_unmodified(built, disk_dir, tmp_path, streams, "uneven")
    # Twelve columns of 3595 pages each. Where the kernel tells pages only, 67,090 are read ahead, a third of them in between,
    # and 4,717 are not foreseen; else 43,092 and 64.
    assert history(figures)["prefetched"] < 1.1 * 12 * 3595
    assert figures["faults"]["not_prefetched"] < 1000


def test_of_rounds_over_more_than_memory_most_stays(built, disk_dir, tmp_path):
    """26 MiB, eight times in an order that nothing foretells, of which 21 fit: if the oldest pages went, all would be read again."""
    figures = run_unmodified(built, disk_dir, tmp_path, optimized(built, "clang-19", "rounds.c"), options=("--option", "compress=0"))
    # The first rounds are for trials of both ends, and of a second chance.
    assert figures["unreleased"]["newest"] > figures["unreleased"]["oldest"] / 4
    assert figures["faults"]["not_prefetched"] < 0.5 * 8 * (26 << 8)


def test_room_is_made_while_the_disk_reads(built, disk_dir, tmp_path):
    """The program waits for each page, and the pager for the disk meanwhile. Beside other work it does not look for that, but sleeps."""
    figures = run_unmodified(built, disk_dir, tmp_path, optimized(built, "clang-19", "counting.c"))
    looked = figures["polling"]["looks"]
    if looked < 200:
        pytest.skip(f"the processors are busy: it looked {looked} times")
    assert figures["releases"]["evicted_ahead"] > looked / 16


def test_what_fits_when_it_is_compressed_is_hardly_read(built, disk_dir, tmp_path):
    """The same, whose pages come to a sixteenth: they wait in memory, and come back ahead of the program, which faults on marks."""
    figures = run_unmodified(built, disk_dir, tmp_path, optimized(built, "clang-19", "rounds.c"))
    waited = figures["second_chance"]
    assert figures["faults"]["not_prefetched"] < 0.1 * 8 * (26 << 8)
    assert waited["came_back"] > 2 * (26 << 8)


def test_threads_that_go_round_data_of_their_own_have_their_turns(built, disk_dir, tmp_path):
    """Four of 6.5 MiB each, a hundred times. Side by side, 94,000 and 105,000 pages were read, of 665,600 visits; 6,700 in turns."""
    figures = run_unmodified(built, disk_dir, tmp_path, optimized(built, "clang-19", "own_rounds.c"))
    assert figures["faults"]["not_prefetched"] < 40000


def test_history_can_be_switched_off(built, disk_dir, tmp_path, streams):
    figures = run_unmodified(built, disk_dir, tmp_path, streams, options=("--option", "history=0"))
    assert figures["hints"]["prefetched_pages"] == 0 and figures["faults"]["not_prefetched"] > 0


def test_random_faults_are_left_alone(built, disk_dir, tmp_path, streams):
    figures = run_unmodified(built, disk_dir, tmp_path, streams, "random")
    assert figures["faults"]["not_prefetched"] > 8000
    assert history(figures)["prefetched"] < figures["faults"]["not_prefetched"] / 20


def may_leave_the_idle_class():
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["CapEff"], 16) >> 23 & 1 and Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


def test_who_faults_alone_is_attended(built, disk_dir, tmp_path, streams):
    """Both ways are tried, and the one that is better is kept. Without the privilege there is one only."""
    figures = run_unmodified(built, disk_dir, tmp_path, streams, "random")
    assert figures["faults"]["not_prefetched"] > 8000
    assert (figures["attendance"]["begun"] > 0) == bool(may_leave_the_idle_class())


def test_children_that_page_nothing_leave_the_statistics_alone(built, disk_dir, tmp_path, streams):
    figures = run_unmodified(built, disk_dir, tmp_path, "/bin/sh", "-c", f"{streams} && /bin/true")
    assert history(figures)["hit"] > 0


def test_numpy(built, disk_dir, tmp_path):
    pytest.importorskip("numpy", reason="numpy is not installed")
    assert hit_share(run_unmodified(built, disk_dir, tmp_path, sys.executable, "-c", NUMPY)) > 0.9
