# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast serve: files, prefetches and counts as clients of NBD see them."""

import random
import subprocess
import threading

import pytest

from serving import BLOCK, nbd, serving

COUNTED = {"hits", "late", "misses", "prefetches", "dropped", "duplicate", "unused", "harmful_intra", "harmful_inter"}


def contents(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A directory of files, of which some lead out of it or are none."""
    place = tmp_path_factory.mktemp("data")
    (place / "sub").mkdir()
    (place / "large").write_bytes(contents(40 * BLOCK + 777, 1))
    (place / "sub" / "small").write_bytes(contents(100, 2))
    (place / "empty").touch()
    (place / "outside").symlink_to("/etc/passwd")
    (place / "inside").symlink_to("sub/small")
    subprocess.run(["mkfifo", place / "fifo"], check=True)
    return place


@pytest.mark.check
@pytest.mark.parametrize("policy", ["aging", "2q"])
def test_files_are_what_they_are(tools, data, policy):
    with serving(tools, data, "--cache", "1M", "--policy", policy) as server:
        handle = server.open("large")
        whole = (data / "large").read_bytes()
        assert handle.get_size() == len(whole)
        assert handle.pread(len(whole), 0) == whole
        for seed in range(40):
            start = random.Random(seed).randrange(len(whole))
            size = random.Random(seed + 1000).randrange(1, len(whole) - start + 1)
            assert handle.pread(size, start) == whole[start:start + size]
        assert server.open("sub/small").pread(100, 0) == (data / "sub" / "small").read_bytes()
        assert server.open("inside").pread(100, 0) == (data / "sub" / "small").read_bytes()
        assert server.open("empty").get_size() == 0


def test_what_is_no_file_of_the_directory_is_refused(tools, data):
    with serving(tools, data) as server:
        for name in ("outside", "nothing", "sub", "fifo", "../data/large", "/etc/passwd", ""):
            with pytest.raises(nbd().Error):
                server.open(name)
        server.process.send_signal(2)
        said = server.process.communicate(timeout=60)[1]
        assert "'outside' cannot be served: it leads out of the directory" in said and "'nothing' cannot be served" in said


def test_exports_are_listed(tools, data):
    names = []
    with serving(tools, data) as server:
        handle = nbd().NBD()
        handle.set_opt_mode(True)
        handle.connect_unix(server.socket)
        handle.opt_list(lambda name, description: names.append(name))
        handle.opt_abort()
    assert names == ["empty", "large", "sub/small"]


def test_a_prefetch_is_a_hit_later_and_counts_once(tools, data):
    with serving(tools, data, "--cache", "4M") as server:
        handle = server.open("large", "rank 3")
        handle.cache(4 * BLOCK, 0)
        handle.cache(2 * BLOCK, BLOCK)
        handle.pread(4 * BLOCK, 0)  # which waits for what is on its way
        handle.pread(BLOCK, 10 * BLOCK)
        handle.pread(1, 10 * BLOCK + 5)
        counts = server.of("rank 3")
        assert COUNTED < set(counts)
        assert (counts["prefetches"], counts["duplicate"], counts["misses"]) == (4, 2, 1)
        assert counts["hits"] + counts["late"] == 5 and server.counts()["disk"]["reads"] == 5


def test_harmful_prefetches_are_told_apart(tools, data):
    """Four blocks of cache, in the order in which they go: each case of the definition once."""
    with serving(tools, data, "--cache", "256K") as server:
        one, two = server.open("large", "one"), server.open("large", "two")
        for block in range(4):
            one.pread(1, block * BLOCK)
        two.cache(BLOCK, 10 * BLOCK)  # block 0, of one, goes
        wait_for(server, "two", prefetches=1)
        one.pread(1, 0)  # and is wanted first; block 1 goes
        one.cache(BLOCK, 11 * BLOCK)  # block 2 goes
        one.pread(1, 11 * BLOCK)  # and is not wanted first
        one.pread(1, 2 * BLOCK)  # block 3 goes
        counts = server.counts()
        of = {each["name"]: each for each in counts["clients"]}
        assert (of["two"]["harmful_inter"], of["two"]["harmful_intra"]) == (1, 0)
        assert (of["one"]["harmful_inter"], of["one"]["harmful_intra"], of["one"]["unused"]) == (0, 0, 0)
        one.cache(BLOCK, 12 * BLOCK)  # the unused block 10 goes
        of = {each["name"]: each for each in server.end()["clients"]}
        assert of["two"]["unused"] == 1 and of["two"]["harmful_inter"] == 1, "harmful once"
        assert of["one"]["unused"] == 1 and of["one"]["harmful_inter"] == 1, "never used: at the end this is known"


def wait_for(server, client: str, **counts):
    """Until no read is on its way: the disk has read as often as was asked."""
    while True:
        now = server.counts()
        mine = next(each for each in now["clients"] if each["name"] == client)
        if all(mine[name] >= value for name, value in counts.items()) and now["disk"]["reads"] >= now["all"]["misses"] + now["all"]["prefetches"]:
            return


def test_many_clients_share_a_cache_that_is_far_too_small(tools, data):
    whole, wrong = (data / "large").read_bytes(), []

    def client(server, number):
        handle, draw = server.open("large", f"rank {number % 3}"), random.Random(number)
        for _ in range(150):
            start = draw.randrange(len(whole) - 1)
            size = min(draw.randrange(1, 6 * BLOCK), len(whole) - start)
            if draw.randrange(3) == 0:
                handle.cache(size, start)
            elif handle.pread(size, start) != whole[start:start + size]:
                wrong.append(start)

    with serving(tools, data, "--cache", "320K") as server:
        threads = [threading.Thread(target=client, args=(server, number)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counts = server.end()
    assert not wrong
    assert {each["name"] for each in counts["clients"]} == {f"rank {number}" for number in range(3)}
    every = counts["all"]
    assert every["hits"] and every["misses"] and every["prefetches"] and every["harmful_inter"] and every["harmful_intra"]
    assert counts["disk"]["reads"] <= every["misses"] + every["prefetches"]
    for name in COUNTED:
        assert sum(each[name] for each in counts["clients"]) == every[name]


def test_a_file_that_has_changed_is_read_anew(tools, tmp_path):
    (tmp_path / "file").write_bytes(b"a" * BLOCK)
    with serving(tools, tmp_path) as server:
        assert server.open("file").pread(3, 0) == b"aaa"
        (tmp_path / "file").write_bytes(b"b" * 2 * BLOCK)
        handle = server.open("file")
        assert handle.get_size() == 2 * BLOCK and handle.pread(3, 0) == b"bbb"


def test_a_file_that_shrinks_is_an_error_of_that_read(tools, tmp_path):
    (tmp_path / "file").write_bytes(b"a" * 4 * BLOCK)
    with serving(tools, tmp_path) as server:
        handle = server.open("file")
        with open(tmp_path / "file", "r+b") as file:
            file.truncate(BLOCK)
        with pytest.raises(nbd().Error) as error:
            handle.pread(BLOCK, 2 * BLOCK)
        assert error.value.errno == "EIO"
        assert handle.pread(3, 0) == b"aaa"


def test_the_slow_disk_reads_for_those_who_wait_first(tools, data):
    """A demand overtakes prefetches that wait: of these, one is under way, and the others come after it."""
    with serving(tools, data, "--cache", "8M", "--latency", "150") as server:
        handle = server.open("large", "rank")
        handle.cache(20 * BLOCK, 0)
        handle.pread(1, 30 * BLOCK)
        assert server.counts()["disk"]["reads"] < 20, "it would have been the last of 21"
        handle.pread(1, 19 * BLOCK)  # the last that was foretold: it comes next, and not after the others
        assert server.counts()["disk"]["reads"] < 20
        counts = server.end()
    assert counts["all"]["late"] == 1 and counts["all"]["prefetches"] == 20
