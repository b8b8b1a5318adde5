# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real programs on slow storage: the same output, and nearly all of what they wait for has been hinted."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from slow import write_tree
from speculating import speculation, storage  # noqa: F401


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return write_tree(tmp_path_factory.mktemp("tree") / "tree", directories=8, files=30)


@pytest.mark.parametrize("command", [
    ("grep", "-r", "needle", "."), ("grep", "-rc", "needle", "."), ("tar", "cf", "-", "."), ("du", "-a", "--apparent-size", "."),
    ("find", ".", "-size", "+4k"),
], ids=" ".join)
def test_walks(speculation, storage, tree, command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    plain = speculation.plain(*command, cwd=storage(tree))
    for _ in range(3):  # where others compute, a copy may come too late for the first directories
        beside = speculation.run(*command, cwd=storage(tree))
        assert (beside.stdout, beside.returncode) == (plain.stdout, plain.returncode)
        assert b"warning" not in beside.stderr
        figures = speculation.figures()
        assert figures["copies"]["made"] >= 1
        assert figures["copies"]["ended"]["crashed"] == figures["copies"]["ended"]["set_up"] == 0
        seen = figures["original"]["waits_hinted"] + figures["original"]["waits_missed"]
        if figures["original"]["waits_hinted"] >= 0.9 * seen > 0:
            break
    assert figures["original"]["waits_hinted"] >= 0.9 * seen > 0
    prefetch = figures["prefetch"]
    print(figures)
    assert prefetch["done"] >= 0.7 * 240, "most of the files"
    assert prefetch["failed"] + prefetch["cancelled"] <= 0.05 * prefetch["hints"]


def test_what_is_passed_on_without_being_read(speculation, storage, tree, tmp_path):
    """By copy_file_range or sendfile, of files that a copy has not opened but guessed."""
    def copied(run) -> dict:
        shutil.rmtree(tmp_path / "made", ignore_errors=True)
        done = run("cp", "-r", ".", tmp_path / "made", cwd=storage(tree))
        assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
        return {str(p.relative_to(tmp_path)): p.read_bytes() for p in sorted((tmp_path / "made").rglob("*.txt"))}
    plain = copied(speculation.plain)
    for _ in range(3):  # where others compute, a copy may come too late
        assert copied(speculation.run) == plain and len(plain) == 240
        figures = speculation.figures()
        assert figures["copies"]["ended"]["unreadable"] == 0, figures
        # The directories that it seems to make are there when the program looks, or each copy would end at the first.
        if figures["prefetch"]["done"] >= 0.7 * 240 and figures["copies"]["made"] <= 4:
            return
    raise AssertionError(figures)


@pytest.mark.alone  # counts what a copy at idle priority does
def test_programs_that_try_to_poll_each_file(speculation, storage, tree):
    """As those in Go do, which are told that files cannot be polled. Rsync polls its pipe before it writes."""
    script = ("import os, select\ne, n, p = select.epoll(), 0, select.poll()\np.register(1, select.POLLOUT)\nfor d, _, names in os.walk('.'):\n"
              "    for name in names:\n        f = os.open(os.path.join(d, name), os.O_RDONLY)\n        try:\n            e.register(f)\n"
              "        except PermissionError:\n            pass\n        e.poll(0)\n        n += len(p.poll()) + len(os.read(f, 1 << 20))\n"
              "        os.close(f)\nprint(n)\n")
    plain = speculation.plain("/usr/bin/python3", "-c", script, cwd=tree)
    for _ in range(3):  # where others compute, a copy may come too late
        beside = speculation.run("/usr/bin/python3", "-c", script, cwd=storage(tree))
        assert (beside.stdout, beside.stderr, beside.returncode) == (plain.stdout, b"", 0)
        figures = speculation.figures()
        assert figures["copies"]["ended"]["call"] == 0, figures
        if figures["prefetch"]["done"] >= 0.7 * 240:
            return
    raise AssertionError(figures)


@pytest.mark.alone  # counts what a copy at idle priority does
def test_slices_through_a_large_file(speculation, storage, tmp_path):
    """Reads at places that depend on nothing that is read."""
    (tmp_path / "volume").mkdir()
    with open(tmp_path / "volume" / "v", "wb") as file:
        file.truncate(256 << 20)
    script = ("import os, random\nf = os.open('v', os.O_RDONLY)\nr = random.Random(3)\ns = 0\n"
              "for i in range(400):\n    s += len(os.pread(f, 2048, r.randrange(1 << 17) * 2048))\nprint(s)\n")
    command = ("/usr/bin/python3", "-c", script)
    plain = speculation.plain(*command, cwd=storage(tmp_path / "volume"))
    beside = speculation.run(*command, cwd=storage(tmp_path / "volume"))
    assert beside.stdout == plain.stdout == b"819200\n"
    figures = speculation.figures()
    assert figures["prefetch"]["done"] >= 0.9 * 400
    assert figures["original"]["waits_missed"] <= 4
    assert figures["copies"]["seconds"] > 0, "however short a copy is"
    assert figures["copies"]["dilation"] >= 0


@pytest.mark.alone  # counts what a copy at idle priority does
@pytest.mark.parametrize("opens", [True, False])
def test_names_that_the_copy_has_not_seen_listed(speculation, storage, tmp_path, opens):
    """The program knows them, or has listed them before it waits. A copy that looked up one after the other could not get ahead."""
    home = tmp_path / "files"
    home.mkdir()
    for i in range(150):
        (home / f"f{i}").write_bytes(b"x" * 20000)
    one = "len(open('f%d' % i, 'rb').read())" if opens else "os.stat('f%d' % i).st_size"
    script = f"import os\nos.listdir('.')\nn = 0\nfor i in range(150):\n    n += {one}\nprint(n)\n"
    beside = speculation.run("/usr/bin/python3", "-c", script, cwd=storage(home))
    assert (beside.stdout, beside.stderr, beside.returncode) == (b"3000000\n", b"", 0)
    figures = speculation.figures()
    assert figures["copies"]["guesses"] >= 50 and figures["prefetch"]["done"] >= 50, figures
    assert figures["copies"]["ended"]["astray"] == figures["copies"]["ended"]["crashed"] == 0, figures


def test_files_that_the_command_line_names(speculation, storage, tree):
    names = [f"d{d}/f{f}.txt" for d in range(8) for f in range(10)]
    plain = speculation.plain("sha256sum", *names, cwd=tree)
    beside = speculation.run("sha256sum", *names, cwd=storage(tree, milliseconds=10))  # so that the first look finds the first wait
    assert beside.stdout == plain.stdout
    assert speculation.figures()["prefetch"]["named"] == len(names)


def test_names_that_have_been_passed_are_no_hints(speculation, storage, tree):
    names = [f"d{d}/f{f}.txt" for d in range(8) for f in range(10)]
    seen = []
    for _ in range(8):  # where nobody looked before the program's first wait, or that is for a library, none has been passed
        place = storage(tree)
        for name in names[:40]:
            (place / name).read_bytes()
        speculation.run("sha256sum", *names, cwd=place)
        seen.append(speculation.figures()["prefetch"]["named"])
        assert seen[-1] <= 80
        if 20 <= seen[-1] < 80:
            return
    raise AssertionError(seen)


def test_nothing_is_done_when_all_is_in_memory(speculation, tree):
    speculation.plain("grep", "-r", "needle", ".", cwd=tree)
    beside = speculation.run("grep", "-r", "needle", ".", cwd=tree)
    figures = speculation.figures()
    assert beside.returncode == 0
    assert figures["copies"]["made"] == figures["prefetch"]["hints"] == figures["original"]["stopped_ns"] == 0


def test_each_way_to_end_is_explained(speculation):
    """The summary has the words of the statistics."""
    assert speculation.run("true").returncode == 0
    text = (Path(__file__).parents[3] / "docs" / "speculate.md").read_text()
    words = set(speculation.figures()["copies"]["ended"])
    assert len(words) == 11 and {word for word in words if f"| `{word}` |" in text} == words


def test_a_controller_has_nothing_before_it_is_needed(speculation):
    """No memory for copies and no thread: a program that computes asks for its controller's."""
    script = ("import glob, os\nn = sum(range(20000000))\n"
              "for name in glob.glob('/proc/[0-9]*/stat'):\n    try: facts = open(name).read()\n    except OSError: continue  # it has ended\n    if f' {os.getpid()} ' in facts and '(pagecast-watch)' in facts:\n"
              "        files = [os.readlink(f) for f in glob.glob(name[:-4] + 'fd/*')]\n"
              "        print(len(os.listdir(name[:-4] + 'task')), sum('memfd' in f for f in files), max(map(len, files)) > 0)\n")
    for _ in range(5):  # beside others, a wait for memory may be as long as one for a disk
        done = subprocess.run(speculation.command("/usr/bin/python3", "-c", script, stats=False), capture_output=True, text=True, timeout=60)
        assert (done.stderr, done.returncode) == ("", 0)
        if done.stdout == "1 0 True\n":
            return
    assert done.stdout == "1 0 True\n"


def test_processes_of_a_pipeline(speculation, storage, tree):
    command = ("sh", "-c", "tar cf - . | cat | sha256sum; grep -rl needle . | sort | sha256sum")
    plain = speculation.plain(*command, cwd=storage(tree))
    beside = speculation.run(*command, cwd=storage(tree))
    assert (beside.stdout, beside.stderr) == (plain.stdout, plain.stderr)
    assert speculation.figures()["prefetch"]["done"] > 100


def test_access_times_stay(speculation, storage, tmp_path):
    """Of files that are prefetched: the disk below is asked by the server, so this is about the machine's own disk."""
    tree = write_tree(tmp_path / "own", 2, 20)
    files = sorted(tree.rglob("*.txt"))
    for file in files:
        os.utime(file, (1000, 2000))
    speculation.run("du", "-a", ".", cwd=tree)
    assert {file.stat().st_atime for file in files} == {1000}


@pytest.mark.alone  # counts what a copy at idle priority does
def test_what_the_program_reads_back_of_its_own_writes(speculation, storage, tmp_path):
    """Where it reads next stands in a file that it writes and reads itself: in a new one, and in one that was there."""
    (tmp_path / "volume").mkdir()
    with open(tmp_path / "volume" / "v", "wb") as file:
        file.truncate(64 << 20)
    script = ("import os, random, sys\nf = os.open('v', os.O_RDONLY)\nr = random.Random(3)\ns = 0\n"
              "old = os.open(sys.argv[1] + '/old', os.O_RDWR)\n"
              "for i in range(150):\n    name = sys.argv[1] + '/new%d' % (i % 5)\n"
              "    w = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)\n"
              "    os.write(w, b'%8d' % r.randrange(1 << 14))\n    os.close(w)\n    w = os.open(name, os.O_RDONLY)\n"
              "    assert os.fstat(w).st_size == 8\n    at = int(os.read(w, 100))\n    os.close(w)\n"
              "    os.pwrite(old, b'%8d' % at, 5000)\n    at = int(os.pread(old, 8, 5000))\n"
              "    s += at + len(os.pread(f, 2048, at * 4096))\nprint(s)\n")
    def seen(run) -> tuple:
        home = tmp_path / "home"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        (home / "old").write_bytes(b"o" * 9000)
        done = run("/usr/bin/python3", "-c", script, home, cwd=storage(tmp_path / "volume"))
        return done.returncode, done.stdout, done.stderr, {p.name: p.read_bytes() for p in home.iterdir()}
    plain = seen(speculation.plain)
    for _ in range(3):  # where others compute, a copy may come too late
        assert seen(speculation.run) == plain and plain[0] == 0
        figures = speculation.figures()
        assert figures["copies"]["ended"]["written"] == figures["copies"]["ended"]["call"] == figures["copies"]["ended"]["crashed"] == 0
        if figures["prefetch"]["done"] >= 0.8 * 150 and figures["original"]["waits_missed"] <= 4:
            return
    raise AssertionError(figures)


@pytest.mark.alone  # counts what a copy at idle priority does
def test_what_the_program_keeps_in_shared_memory(speculation, storage, tmp_path):
    """Where it reads next stands in pools that are large, shared with its children, and hardly used, as fio's are. Its copies have what is
    in them, and do not fill the rest: the program counts its pages."""
    (tmp_path / "volume").mkdir()
    with open(tmp_path / "volume" / "v", "wb") as file:
        file.truncate(64 << 20)
    (tmp_path / "pools.c").write_text(
        '#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdio.h>\n#include <sys/mman.h>\n#include <unistd.h>\n'
        'enum { kPools = 4, kBytes = 17 << 20, kReads = 150 };\nint main(void) {\n  unsigned *pool[kPools], state = 1;\n  char block[2048];\n'
        '  for (int i = 0; i < kPools; i++) pool[i] = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);\n'
        '  for (int i = 0; i < kReads; i++) pool[i % kPools][i * 20000] = (state = state * 1103515245 + 12345) >> 18;\n'
        '  int file = open("v", O_RDONLY);\n  long sum = 0, pages = 0;\n'
        '  for (int i = 0; i < kReads; i++) sum += pread(file, block, sizeof block, (off_t)pool[i % kPools][i * 20000] * 4096);\n'
        '  for (int i = 0; i < kPools; i++) {\n    static unsigned char in[kBytes / 4096];\n    mincore(pool[i], kBytes, in);\n'
        '    for (int k = 0; k < kBytes / 4096; k++) pages += in[k];\n  }\n  printf("%ld %ld\\n", sum, pages);\n  return 0;\n}\n')
    subprocess.run(["cc", "-O2", tmp_path / "pools.c", "-o", tmp_path / "pools"], check=True)
    plain = speculation.plain(tmp_path / "pools", cwd=storage(tmp_path / "volume"))
    done = speculation.run(tmp_path / "pools", cwd=storage(tmp_path / "volume"))
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, b"") and plain.stdout.startswith(b"307200 ")
    figures = speculation.figures()
    assert figures["copies"]["made"] >= 1
    assert figures["copies"]["ended"]["crashed"] == figures["copies"]["ended"]["set_up"] == 0, figures["copies"]
    assert figures["prefetch"]["done"] >= 0.8 * 150


def test_a_program_that_does_not_wait_is_hardly_looked_at(speculation):
    """The longer it has not, the more seldom: 50 looks in two seconds, where one in 20 ms would be a hundred."""
    assert speculation.run("sleep", "2").returncode == 0
    figures = speculation.figures()
    assert 10 <= figures["original"]["looks"] <= 60
    assert figures["copies"]["made"] == figures["prefetch"]["hints"] == 0


def test_no_library_is_loaded_before_the_program_begins(tools):
    """Each takes as long as a look. Of the command proper, which is not loaded for it either, it is the C library's alone."""
    def needed(file) -> set[str]:
        listed = subprocess.run(["readelf", "-dW", file], capture_output=True, text=True, check=True).stdout
        return {line.split("[")[1].rstrip("]") for line in listed.splitlines() if "(NEEDED)" in line}
    assert needed(tools.pagecast) == set()
    proper = needed(tools.command)
    if any("stdc++" in name or "yaml" in name for name in proper):
        pytest.skip("built without archives of its libraries")
    assert proper <= {"libc.so.6", "ld-linux-x86-64.so.2"}


@pytest.mark.alone  # counts what a copy at idle priority does
def test_what_storage_does_not_keep_is_not_fetched(speculation, storage, tmp_path):
    """One hint of each kind finds out, by asking twice. The servers are not made to list everything once more."""
    many = write_tree(tmp_path / "many", directories=80, files=1)
    command = ("find", ".", "-name", "f*")
    plain = speculation.plain(*command, cwd=storage(many, milliseconds=5, manner="forgets"))
    place = storage(many, milliseconds=5, manner="forgets")
    beside = speculation.run(*command, cwd=place)
    assert (beside.stdout, beside.stderr, beside.returncode) == (plain.stdout, b"", 0)
    figures = speculation.figures()
    assert figures["prefetch"]["in_vain"] >= 40, figures
    assert figures["prefetch"]["done"] <= 10, figures
    for _ in range(2):  # a copy may come too late to be of use
        speculation.run(*command, cwd=storage(many, milliseconds=5))
        figures = speculation.figures()
        assert figures["prefetch"]["in_vain"] == 0, figures
        if figures["prefetch"]["done"] >= 40:
            return
    assert False, figures


@pytest.mark.alone
@pytest.mark.parametrize("manner", ["", "forgets"])
def test_no_copy_lists_in_vain(speculation, storage, tmp_path, manner):
    """It would list for itself. Whether listings are kept is found out before one is made."""
    many = write_tree(tmp_path / "many", directories=40, files=1)
    script = "import os\nfor i in range(40): print(os.listdir(f'd{i}'))"
    beside = speculation.run("/usr/bin/python3", "-c", script, cwd=storage(many, milliseconds=8, manner=manner))
    assert (beside.stdout, beside.stderr, beside.returncode) == (b"['f0.txt']\n" * 40, b"", 0)
    figures = speculation.figures()
    assert (figures["copies"]["made"] == 0) == (manner == "forgets"), figures
    assert 1 <= figures["prefetch"]["done"] <= 3 or not manner, figures
    lists = storage.close()["by"]["pagecast-tip"]["lists"]
    assert lists == 2 or not manner, "the beginning of one says that the directory keeps no pages of it, and once more it takes as long"


@pytest.mark.alone  # counts what a copy at idle priority does
def test_files_of_which_each_open_asks_a_server_are_guessed(speculation, storage, tree):
    """Their facts are in memory, and yet a copy that opened them could not get ahead."""
    place = storage(tree, manner="asks")
    speculation.plain("find", "d0", "d1", "-size", "+1k", cwd=place)
    plain = speculation.plain("grep", "-rc", "needle", "d0", "d1", cwd=tree)
    beside = speculation.run("grep", "-rc", "needle", "d0", "d1", cwd=place)
    assert (beside.stdout, beside.stderr, beside.returncode) == (plain.stdout, b"", plain.returncode)
    figures = speculation.figures()
    assert figures["copies"]["guesses"] >= 30, figures
    assert figures["copies"]["ended"]["astray"] == figures["copies"]["ended"]["crashed"] == 0, figures
    assert figures["copies"]["hinted"] >= 30 and figures["prefetch"]["done"] >= 30, figures
