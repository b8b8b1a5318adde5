# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports as memory: pagecast_map() and pagecast run --map."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from serving import serving

SOURCE = Path(__file__).with_name("mapping.c")
INCLUDE = Path(__file__).parents[3] / "runtime/include"
WORDS = (24 << 20) // 8 + 100  # more than the memory that programs get, and a part of a page


def weighed(words) -> str:
    return f"{sum(word * 31 for word in words) % (1 << 64):x}"


@pytest.fixture(scope="module")
def program(built):
    if not (built.pagecast.parent.parent / "lib/pagecast/pagecast-nbd").exists():
        pytest.skip("built without libnbd")
    if not shutil.which("nbdkit"):
        pytest.skip("nbdkit is not installed")
    return built.compile(built.cc, SOURCE, "-O2", "-I", INCLUDE)


@pytest.fixture
def start(tools, program, tmp_path):
    """A function that starts the program; `maps`: PATH=URI each."""
    started = []

    def begin(*arguments, maps=(), **options):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
        clean |= {"PAGECAST_MEMORY": "16M", "PAGECAST_STATS": str(tmp_path / "stats")}
        clean |= {f"PAGECAST_{name.upper()}": value for name, value in options.items()}
        words = [word for each in maps for word in ("--map", each)]
        started.append(subprocess.Popen([tools.pagecast, "run", *words, "--", program, *map(str, arguments)], env=clean, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]
    yield begin
    for process in started:
        with contextlib.suppress(OSError):
            process.kill()
        process.communicate()


@pytest.fixture
def memory_server(tmp_path):
    """A function that serves so many bytes of memory with nbdkit: the process, and the address."""
    servers = []

    def begin(size, *options):
        place = tmp_path / f"s{len(servers)}"
        servers.append(subprocess.Popen(["nbdkit", "-f", "-U", place, *options, "memory", str(size)], stderr=subprocess.DEVNULL))
        while not place.exists():
            assert servers[-1].poll() is None
            time.sleep(0.01)
        return servers[-1], f"nbd+unix:///?socket={place}"
    yield begin
    for server in servers:
        server.kill()
        server.wait()


def end(process, text=None):
    out, said = process.communicate(text, timeout=60)
    return process.returncode, out, said


@pytest.mark.check
def test_a_path_is_an_export(tools, start, tmp_path):
    """Mapped, read, and hinted by the compiler; there is nothing at the path."""
    words = [(i * 2654435761) % (1 << 40) for i in range(WORDS)]
    data = tmp_path / "data"
    data.mkdir()
    (data / "words").write_bytes(b"".join(word.to_bytes(8, "little") for word in words))
    with serving(tools, data, "--cache", "4M") as server:
        uri = server.uri.replace("///?", "///words?")
        path = tmp_path / "nowhere" / "file"
        status, out, said = end(start("read", path, maps=[f"{path}={uri}"]))
        assert (status, out) == (0, f"{WORDS * 8} {weighed(words)}\n"), said
        assert said.count("\n") == 1 and "cannot be cut" in said or "opened for writing" in said
    stats = json.loads((tmp_path / "stats").read_text())
    export = stats["stores"][-1]
    assert export["name"] == uri and export["read_bytes"] >= WORDS * 8 and export["written_bytes"] == 0
    assert stats["hints"]["prefetched_pages"] > WORDS * 8 / 4096 / 2
    assert stats["budget"]["peak_bytes"] <= 17 << 20


def test_far_hints_have_the_server_read_each_block_once_ahead(tools, start, tmp_path):
    """In the server's blocks; by default nothing. How many of them the pager fetches before depends on the machine."""
    block, words = 256 << 10, [i * 5 + 2 for i in range(WORDS)]
    data = tmp_path / "data"
    data.mkdir()
    (data / "words").write_bytes(b"".join(word.to_bytes(8, "little") for word in words))
    blocks = -(-WORDS * 8 // block)
    for far, least, most in (("none", 0, 0), ("independent", 1, blocks + 1)):
        with serving(tools, data, "--cache", "64M", "--block", str(block)) as server:
            uri = server.uri.replace("///?", "///words%3Fclient=reader?")
            status, out, said = end(start("read", "words", maps=[f"words={uri}"], far=far))
            assert (status, out) == (0, f"{WORDS * 8} {weighed(words)}\n"), said
            counts = server.of("reader", final=True)
            assert least <= counts["prefetches"] <= most and counts["prefetches"] + counts["duplicate"] <= most, counts
            assert counts["misses"] + counts["prefetches"] == blocks, counts
    _, _, said = end(start("read", "words", far="most"))
    assert "--far 'most' is no scheme" in said


def test_a_loop_over_rounds_does_not_keep_hints_from_what_each_round_reads(tools, start, tmp_path):
    """Its slice touches single places of a table, which are not the export's."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "words").write_bytes((1).to_bytes(8, "little") * WORDS)
    rounds = 3
    table = sum((1 << 15) + r + 1 for r in range(rounds))
    with serving(tools, data, "--cache", "1M") as server:
        uri = server.uri.replace("///?", "///words?")
        status, out, said = end(start("rounds", "words", rounds, maps=[f"words={uri}"], far="independent"))
        assert (status, out) == (0, f"{31 * WORDS * rounds + table:x}\n"), said
    assert json.loads((tmp_path / "stats").read_text())["far"]["asked_blocks"] > 0


@pytest.mark.check
def test_what_is_stored_is_the_exports_and_the_childs(start, memory_server):
    _, uri = memory_server(WORDS * 8)
    words = [i * 7 + 1 for i in range(WORDS)]
    status, out, said = end(start("share", uri))
    assert (status, said) == (0, "")
    assert out == (f"before 0\nflushed 0 {weighed(words)}\nchild 0 1001 5\nunmapped 0\nlast 5\n")


def test_fortran_has_the_same(tools, program, memory_server, tmp_path):
    if not shutil.which("flang-new-19"):
        pytest.skip("flang 19 is not installed")
    done = tools.run(tools.pagecast, "fc", "-O2", INCLUDE / "pagecast/pagecast.f90", SOURCE.with_suffix(".f90"), "-o", "mapping",
                     cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    _, uri = memory_server(1 << 20)
    words = 1 << 17
    done = tools.run(tools.pagecast, "run", "--", tmp_path / "mapping", uri)
    assert (done.returncode, done.stdout.split()) == (0, ["0.0", f"{words}", "0", "0", "0", f"{words * (words + 1) // 2}."]), done.stderr


def meet(ranks: list, said: str):
    """A barrier: all have said that, and go on."""
    for each in ranks:
        assert (said and each.stdout.readline()) == said and each.stdout.readline() == "here\n"
    for each in ranks:
        each.stdin.write("\n")
        each.stdin.flush()


def test_ranks_see_what_others_have_stored_after_both_have_synced(start, memory_server):
    """By msync() of a mapping that knows of nothing; what is stored at the end goes there without it."""
    _, uri = memory_server(WORDS * 8)
    ranks = [start("rank", "data", i, 3, maps=[f"data={uri}"]) for i in range(3)]
    for said in ("", "", f"0 {weighed(range(1, WORDS + 1))}\n"):
        meet(ranks, said)
    for each in ranks:
        assert end(each)[:2] == (0, "")
    words = list(range(1, WORDS + 1))
    for i in range(3):
        words[WORDS // 512 * i // 3 * 512] = 77
    status, out, _ = end(start("rank", "data", 0, 1, maps=[f"data={uri}"]), "\n\n\n")
    assert (status, out.split()[2]) == (0, weighed(words))


@pytest.mark.parametrize("hints", ["0", "1"])
@pytest.mark.parametrize("size", [2 << 20, 24 << 20], ids=["fits", "larger"])
def test_pages_of_others_are_theirs_where_stores_were_expected(start, memory_server, size, hints):
    """Tiles of two ranks in turn: each rank's streams of stores go on into pages that the other one stores to."""
    _, uri = memory_server(size)
    ranks = [start("turns", "data", i, 2, maps=[f"data={uri}"], hints=hints) for i in range(2)]
    for _ in range(3):
        for said in ("", "0\n"):
            meet(ranks, said)
    for each in ranks:
        assert end(each)[:2] == (0, "")


def test_what_only_a_dead_server_had_raises_sigbus(start, memory_server):
    server, uri = memory_server(32 << 20)
    process = start("wait", uri, patience="1")
    assert process.stdout.readline() == "0 here\n"
    server.kill()
    server.wait()
    status, out, said = end(process, "\n")
    assert (status, out) == (-signal.SIGBUS, "0\n")
    assert "is lost: what needs it waits" in said


def test_what_cannot_be_mapped_is_said(tools, start, memory_server):
    _, uri = memory_server(1 << 20)
    _, read_only = memory_server(1 << 20, "--readonly")
    cases = [("file:///data", 0, 4096, "Invalid argument", "no address of an export"), (uri, 100, 4096, "Invalid argument", "inside of a page"),
             (uri, 0, 2 << 20, "Value too large", "smaller than that"), (uri, 4 << 20, 0, "", "smaller"),
             (read_only, 0, 4096, "Permission denied", "does not let it be written"),
             ("nbd+unix:///?socket=/nowhere", 0, 4096, "Connection refused", "No such file")]
    for address, offset, size, error, why in cases:
        status, out, said = end(start(address, offset, size, verbose="1"))
        assert status == 1 and out.startswith("pagecast_map: ") and error in out, (address, out)
        assert why in said or not error, (address, said)
    assert end(start(uri, 4096, 4096))[:2] == (0, "mapped\n")
    for wrong, why in (("data", "is not PATH=URI"), ("=nbd://x/", "is not PATH=URI"), ("data=/data", "none of nbd://")):
        status, _, said = end(start("read", "data", maps=[wrong]))
        assert status == 2 and why in said
    status, out, said = end(start("read", "data", maps=["data=nbd+unix:///?socket=/nowhere"]))
    assert (status, out) == (1, "open: Connection refused\n") and "data cannot be opened: map nbd+unix" in said


def test_an_io_node_with_keys_is_mapped_by_who_has_one(tools, start, tmp_path):
    """Another's key, one of no user, and none at all are refused with a sentence, and the data stay as they were."""
    directory, content = tmp_path / "served", bytes(range(256)) * 256
    directory.mkdir()
    (directory / "data").write_bytes(content)
    for user, key in (("alice", "ab"), ("mallory", "cd")):
        (tmp_path / user).write_text(f"{user}:{key * 16}\n")
    (tmp_path / "keys").write_text((tmp_path / "alice").read_text())
    (tmp_path / "stolen").write_text(f"alice:{'cd' * 16}\n")
    with serving(tools, directory, "--tls", tmp_path / "keys", "--listen", tmp_path / "socket"):
        def read(scheme, user, keys):
            key = f"&tls-psk-file={tmp_path}/{keys}" if keys else ""
            return end(start("read", "data", maps=[f"data={scheme}+unix://{user}/data?socket={tmp_path}/socket{key}"]))
        status, right, said = read("nbds", "alice@", "alice")
        assert status == 0, said
        for scheme, user, keys in (("nbds", "mallory@", "mallory"), ("nbds", "alice@", "stolen"), ("nbd", "", "")):
            status, out, said = read(scheme, user, keys)
            assert status == 1 and out == "open: Connection refused\n" and "data cannot be opened: map nbd" in said, (scheme, user, out, said)
        assert read("nbds", "alice@", "alice")[:2] == (0, right)
    assert (directory / "data").read_bytes() == content
