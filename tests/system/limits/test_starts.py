# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that fill memory as fast as they can are not killed when paging begins, under limits without swap.

Each start draws how memory is filled, the limit, the size of the blocks, and whether the user gives a budget close to the
limit. PAGECAST_TEST_STARTS=200 draws more of them, and limits up to a gigabyte."""

import os
import random
import subprocess
from pathlib import Path

import pytest

KINDS = ("blocks", "zeroed", "threads", "vector", "copies", "columns", "temporaries", "file")
MANY = int(os.environ.get("PAGECAST_TEST_STARTS", "0"))
MIB = 1 << 20
FEW_HITS = 64  # page cache of the command and its libraries, which are started cold, takes some 30


@pytest.fixture(scope="module")
def starts(tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("starts") / "starts"
    source = Path(__file__).parent / "starts.c"
    subprocess.run(["clang-19", "-O2", "-pthread", source, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def mapped_file():
    path = Path(f"/var/tmp/pagecast-starts.{os.getpid()}")
    with path.open("wb") as file:
        file.write(random.Random(1).randbytes(MIB) * 128)
        os.fsync(file.fileno())
    yield path
    path.unlink()


def draw(seed: int) -> tuple[str, int, int, list[str]]:
    """Kind, limit in MiB, block in KiB, options. Every kind comes once in eight seeds."""
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    limit = rng.choice((64, 96, 128, 256, 512, 1024) if MANY else (64, 96, 128, 192))
    block = 2 ** rng.randint(6, 13 if limit < 256 else 16) * rng.choice((4, 5, 7)) // 4
    options = rng.choice(([], [], ["--memory", f"{limit * 15 // 16}M"], ["--memory", f"{limit}M"]))
    return kind, limit, block, options


def make_cold(path: Path):
    """Its page cache goes: whose control group has none of it must find memory for it."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.parametrize(("limit", "block"), [(32, 1 << 20), (64, 1 << 10), (96, 1 << 20)])
def test_who_reads_a_cold_file_into_paged_memory_is_not_killed(tools, memory_group, starts, mapped_file, limit, block):
    arguments = [starts, "read", "0", str(block), mapped_file]
    expected = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    group = memory_group(limit * MIB)
    make_cold(mapped_file)
    done = subprocess.run([tools.pagecast, "run", "--", *arguments], capture_output=True, text=True, timeout=300, preexec_fn=group.join)
    assert not group.was_killed()
    assert (done.returncode, done.stdout) == (0, expected), done.stderr[-500:]


@pytest.mark.parametrize("seed", range(max(MANY, 24)))
def test_is_not_killed_when_paging_begins(tools, memory_group, starts, mapped_file, seed):
    kind, limit, block, options = draw(seed)
    arguments = [starts, kind, str(limit * 3 // 2), str(block), mapped_file]
    expected = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    group = memory_group(limit * MIB)
    done = subprocess.run([tools.pagecast, "run", *options, "--", *arguments], capture_output=True, text=True,
                          timeout=300, preexec_fn=group.join)
    what = f"{kind}, {limit} MiB, blocks of {block} KiB, {' '.join(options) or 'no options'}"
    assert not group.was_killed(), f"the kernel killed it: {what}"
    assert (done.returncode, done.stdout) == (0, expected), f"{what}: {done.stderr[-500:]}"


def test_the_limit_is_not_hit_while_pages_get_their_second_chance(tools, memory_group, starts):
    """They wait in memory of the runtime's own, which grows: by what is free, and not by what will be. The kernel killed one
    program of 18 here, and 16 of them hit the limit, mostly hundreds of times. Page cache that comes back can hit it, too."""
    for last in (False, True):
        group = memory_group(512 * MIB)
        done = subprocess.run([tools.pagecast, "run", "--memory", "480M", "--", starts, "columns", "768", "160"],
                              capture_output=True, text=True, timeout=300, preexec_fn=group.join)
        assert not group.was_killed()
        assert done.returncode == 0, done.stderr[-500:]
        if group.hits() <= FEW_HITS or last:
            break
    assert group.hits() <= FEW_HITS
