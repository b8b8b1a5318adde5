# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies that go wrong end within bounds, and nobody notices."""

import os
import resource
import subprocess
import time
from pathlib import Path

import pytest

from speculating import speculation, storage  # noqa: F401

HERE = Path(__file__).parent
OWN_IO = "it overlaps its input itself (io_uring or userfaultfd)"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    with open(place / "file", "wb") as file:
        for _ in range(61):
            file.write(b"x" * (1 << 20))
    return place


@pytest.fixture(scope="module")
def astray(tmp_path_factory):
    program = tmp_path_factory.mktemp("astray") / "astray"
    subprocess.run(["cc", "-O1", "-w", HERE / "astray.c", "-o", program], check=True)
    return program


def copies_of(program: Path) -> list[str]:
    found = subprocess.run(["pgrep", "-x", "pagecast-copy"], capture_output=True, text=True).stdout.split()
    return [p for p in found if Path(f"/proc/{p}/exe").exists() and os.readlink(f"/proc/{p}/exe") == str(program)]


@pytest.mark.parametrize("how", ["crash", "caught", "loop", "calls", "memory", "descriptors", "stack", "old calls", "jump", "abort"])
def test_what_goes_wrong_in_a_copy_stays_there(speculation, storage, data, astray, how, tmp_path):
    place = storage(data)
    home = tmp_path / "home"
    home.mkdir()
    done = speculation.run(astray, how, place / "file", cwd=home)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{60 * ord('x')}\n".encode(), b"")
    assert speculation.figures()["copies"]["made"] >= 1
    assert not list(home.iterdir()), "no core, nothing made"
    end = time.monotonic() + 10
    while copies_of(astray) and time.monotonic() < end:
        time.sleep(0.05)
    assert not copies_of(astray)


@pytest.mark.parametrize("count", [600, 10000])
def test_many_open_files(speculation, storage, data, count):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 11000:
        pytest.skip("the hard limit of open files is below 11,000")
    script = ("import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (11000, 11000))\n"
              f"held = [os.open('/dev/null' if i % 2 else '/etc/passwd', os.O_RDONLY) for i in range({count})]\n"
              "f = os.open('file', os.O_RDONLY)\nprint(sum(os.pread(f, 4096, i * 37 % 60 << 20)[0] for i in range(60)))\n")
    for _ in range(3):  # where others compute, a copy may come too late
        done = speculation.run("/usr/bin/python3", "-c", script, cwd=storage(data))
        assert (done.stdout, done.stderr, done.returncode) == (f"{60 * ord('x')}\n".encode(), b"", 0)
        if count > 1000 or speculation.figures()["copies"]["hinted"] >= 30:  # a copy's table ends there
            return
    raise AssertionError(speculation.figures())


def test_a_directory_of_many_names(speculation, storage, tmp_path):
    """PAGECAST_SPECULATE_NAMES=1000000 tries more."""
    names = tmp_path / "names"
    names.mkdir()
    for i in range(int(os.environ.get("PAGECAST_SPECULATE_NAMES", "8000"))):
        (names / f"name{i}").touch()
    plain = speculation.plain("find", ".", "-newer", "/", cwd=storage(names, servers=32, milliseconds=0.1))
    done = speculation.run("find", ".", "-newer", "/", cwd=storage(names, servers=32, milliseconds=0.1))
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, sorted(plain.stdout.splitlines()), b"")


@pytest.mark.parametrize("how,reason", [("direct", "it reads past the page cache (O_DIRECT), and so overlaps its reads itself"),
                                        ("mixed", OWN_IO), ("ring", OWN_IO), ("closed", OWN_IO)])
def test_what_is_already_overlapped_is_left_alone(speculation, storage, tmp_path, how, reason):
    """It reads until it has been said why."""
    program, until = tmp_path / "overlapping", tmp_path / "until"
    subprocess.run(["cc", "-O2", "-w", HERE / "overlapping.c", "-o", program], check=True)
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "file", "wb") as file:
        file.truncate(65 << 20)
    place = storage(tmp_path / "data")
    with subprocess.Popen(speculation.command(program, place / "file", until, how), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.readline()
        until.touch()
        output, more = process.communicate(timeout=60)
    if process.returncode == 77:
        pytest.skip("no io_uring here")
    assert (said, output, more, process.returncode) == (f"pagecast: warning: the program runs without hints: {reason}\n", "wrong 0\n", "", 3)
    figures = speculation.figures()
    assert figures["copies"]["made"] == sum(figures["copies"]["ended"].values()) == 0
