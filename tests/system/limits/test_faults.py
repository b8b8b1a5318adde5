# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole programs on disks that fill up, fail and stall: they wait with their data, go on, and can be ended."""

import contextlib
import errno
import json
import os
import signal
import subprocess

import pytest

from blocks import blocks
from failing_disks import Unavailable, failing_files, small_disk

MIB = 1 << 20


@pytest.fixture(scope="module")
def program(built):
    return blocks(built, 96, 6, 2)


@pytest.fixture
def resources(disk_dir):
    """What a test enters is left at its end, before the directory goes. What cannot be had is a skip."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    with contextlib.ExitStack() as stack:
        def enter(manager):
            try:
                return stack.enter_context(manager)
            except Unavailable as reason:
                pytest.skip(str(reason))
        yield enter


class Running:
    """The program under way within 24 MiB, a quarter of its data."""

    def __init__(self, program, backing, stats):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
        settings = {"PAGECAST_MEMORY": "24M", "PAGECAST_BACKING": str(backing), "PAGECAST_STATS": str(stats)}
        self._stats, self.said = stats, ""
        self.process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean | settings)

    def wait_for(self, text: str):
        """Until it says so; the process ends first if it never does."""
        while text not in self.said:
            line = self.process.stderr.readline()
            assert line, f"it ended with status {self.process.wait()} and said: {self.said}"
            if "cannot be paged" in line:
                self.process.kill()
                pytest.skip(line.strip())
            self.said += line

    def end(self) -> tuple[int, str]:
        output, rest = self.process.communicate(timeout=100)
        self.said += rest
        return self.process.returncode, output

    def stores(self) -> list[dict]:
        return json.loads(self._stats.read_text())["stores"]

    def trouble(self) -> dict:
        return json.loads(self._stats.read_text())["trouble"]


@pytest.fixture
def start(program, tmp_path):
    """A function that starts the program; what is left of it is killed."""
    started = []

    def make(backing) -> Running:
        started.append(Running(program[0], backing, tmp_path / "stats.json"))
        return started[-1]
    yield make
    for running in started:
        running.process.kill()
        running.process.wait()
        running.process.stdout.close()
        running.process.stderr.close()


def fill(place, leave: int):
    """A file that takes all of the disk but `leave` bytes."""
    state = os.statvfs(place)
    filler = place / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, state.f_bavail * state.f_frsize - leave)
    return filler


def test_a_full_disk_is_waited_for(program, start, resources, disk_dir):
    place = resources(small_disk(disk_dir, 160 * MIB))
    filler = fill(place, 40 * MIB)
    running = start(place)
    running.wait_for(f"there is no room left in {place}")
    assert running.process.poll() is None
    filler.unlink()
    status, output = running.end()
    assert (status, output) == (0, program[1]), running.said
    assert f"there is room in {place} again" in running.said
    assert running.trouble()["no_room"] > 0 and running.trouble()["lost_pages"] == 0


def two_disks(resources, disk_dir, first: int, second: int):
    places = []
    for name, size in (("one", first), ("two", second)):
        (disk_dir / name).mkdir()
        places.append(resources(small_disk(disk_dir / name, size)))
    return places


def test_pages_are_striped_over_disks(program, start, resources, disk_dir):
    one, two = two_disks(resources, disk_dir, 200 * MIB, 200 * MIB)
    running = start(f"{one},{two}")
    assert running.end() == (0, program[1]), running.said
    stores = running.stores()
    assert [s["name"] for s in stores] == [str(one), str(two)]
    written = sum(s["written_bytes"] for s in stores)
    assert all(s["written_bytes"] > written // 10 and s["read_bytes"] > 0 and s["failed"] == 0 for s in stores), stores
    assert running.said == ""


def test_of_two_disks_one_that_is_full_leaves_its_data_to_the_other(program, start, resources, disk_dir):
    one, two = two_disks(resources, disk_dir, 200 * MIB, 200 * MIB)
    fill(one, 8 * MIB)
    running = start(f"{one},{two}")
    assert running.end() == (0, program[1]), running.said
    assert f"there is no room left in {one} " in running.said and "go to the other stores" in running.said
    assert running.trouble()["no_room"] > 0 and running.trouble()["lost_pages"] == 0
    assert running.stores()[1]["written_bytes"] > 60 * MIB


def test_of_two_disks_one_that_refuses_writes_leaves_its_data_to_the_other(program, start, resources, disk_dir):
    (disk_dir / "one").mkdir()
    (disk_dir / "two").mkdir()
    place, files = resources(failing_files(disk_dir / "one"))
    other = resources(small_disk(disk_dir / "two", 200 * MIB))
    files.write_error = errno.EIO
    running = start(f"{place},{other}")
    assert running.end() == (0, program[1]), running.said
    assert f"writing the program's data to {place} failed (Input/output error)" in running.said
    assert running.stores()[0]["failed"] > 0 and running.trouble()["lost_pages"] == 0


def test_two_directories_on_one_device_are_one(program, start, disk_dir):
    for name in ("one", "two"):
        (disk_dir / name).mkdir()
    running = start(f"{disk_dir / 'one'},{disk_dir / 'two'}")
    assert running.end() == (0, program[1]), running.said
    assert running.said.count("are on one device") == 1
    assert len(running.stores()) == 1


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_program_that_waits_for_room_can_be_ended(start, resources, disk_dir, by):
    place = resources(small_disk(disk_dir, 160 * MIB))
    fill(place, 40 * MIB)
    running = start(place)
    running.wait_for("there is no room left")
    running.process.send_signal(by)
    assert running.end()[0] == -by


def test_failed_writes_are_tried_again(program, start, resources, disk_dir):
    place, files = resources(failing_files(disk_dir))
    files.write_error = errno.EIO
    running = start(place)
    running.wait_for(f"writing the program's data to {place} failed (Input/output error)")
    assert running.process.poll() is None
    files.write_error = 0
    assert running.end() == (0, program[1]), running.said
    assert running.trouble()["write_errors"] > 0 and running.trouble()["lost_pages"] == 0
    assert files.writes > 0 and files.reads > 0


def test_what_cannot_be_read_is_a_bus_error(start, resources, disk_dir):
    place, files = resources(failing_files(disk_dir))
    files.read_error = errno.EIO
    running = start(place)
    assert running.end() == (-signal.SIGBUS, "")
    assert f"reading the program's data back from {place} failed (Input/output error)" in running.said
    assert "SIGBUS" in running.said


@pytest.mark.parametrize("by", [None, signal.SIGINT])
@pytest.mark.parametrize("held, also_said", [("answers", ""), ("room", "when asked for room")])
def test_a_disk_that_stalls_is_waited_for(program, start, resources, disk_dir, held, also_said, by):
    """With everything, or with room alone. The kernel lets a process go only when its I/O has ended, and so does the signal."""
    place, files = resources(failing_files(disk_dir))
    getattr(files, held).clear()
    running = start(place)
    running.wait_for(f"the disk of {place} has not answered for")
    assert also_said in running.said
    if by:
        running.process.send_signal(by)
    getattr(files, held).set()
    assert running.end() == ((-by, "") if by else (0, program[1])), running.said
    if not by:
        assert running.trouble()["stalls"] >= 1 and running.trouble()["no_room"] == running.trouble()["lost_pages"] == 0


def test_a_disk_that_reserves_no_room(program, start, resources, disk_dir):
    place, files = resources(failing_files(disk_dir))
    files.room_error = errno.EOPNOTSUPP
    running = start(place)
    assert running.end() == (0, program[1]), running.said
    assert files.writes > 0 and running.trouble()["no_room"] == running.trouble()["write_errors"] == 0
