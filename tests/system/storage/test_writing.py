# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast serve --writable: what clients write others read, the cache agrees with the file, and nothing is read in vain."""

import pytest

from serving import BLOCK, serving

BEFORE = bytes(range(256)) * 1024


@pytest.fixture
def data(tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    (place / "file").write_bytes(BEFORE)
    return place


def test_what_one_client_writes_the_file_has_and_others_read(tools, data):
    part = bytes(range(100, 200)) * 1000  # parts of the blocks 0 and 2, and all of block 1
    with serving(tools, data, "--writable", "--block", "64K", "--cache", "256K") as server:
        a, b = server.open("file", "a"), server.open("file", "b")
        assert b.pread(4, 60000) == BEFORE[60000:60004]
        a.pwrite(part, 60000)
        assert b.pread(len(part), 60000) == part and server.open("file", "c").pread(len(part), 60000) == part
        a.pwrite(b"x" * BLOCK, 2 * BLOCK)
        a.flush()
        counts = server.of("a")
        assert (counts["misses"], counts["hits"], counts["late"]) == (2, 2, 0), "the first block was there, and the third one the second time"
        disk = server.counts()["disk"]
        assert disk["reads"] == 2, "a block that is written as a whole is not read"
        assert disk["writes"] == 4, "one for each block that a request is of"
        expected = bytearray(BEFORE)
        expected[60000:60000 + len(part)] = part
        expected[2 * BLOCK:3 * BLOCK] = b"x" * BLOCK
        assert (data / "file").read_bytes() == expected == b.pread(len(expected), 0)


def test_blocks_that_were_written_and_went_are_read_as_they_were_written(tools, data):
    (data / "large").write_bytes(bytes(40 * BLOCK))
    with serving(tools, data, "--writable", "--cache", "256K") as server:
        clients = [server.open("large", name) for name in "abcd"]
        for block in range(40):
            clients[block % 4].pwrite(bytes([block + 1]) * 5000, block * BLOCK + 100)
        for block in range(40):
            assert clients[(block + 1) % 4].pread(5200, block * BLOCK) == bytes(100) + bytes([block + 1]) * 5000 + bytes(100)
        assert (data / "large").stat().st_size == 40 * BLOCK


def test_without_the_option_nothing_can_be_written(tools, data):
    with serving(tools, data) as server:
        handle = server.open("file")
        assert handle.is_read_only()
    with serving(tools, data, "--writable") as server:
        assert not server.open("file").is_read_only() and server.open("pagecast:counts").is_read_only()
