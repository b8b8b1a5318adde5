# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A limit that moves: paged programs beside others in one memory control group. Nobody may be killed, and the
output must be the plain build's."""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paging import optimized

MIB = 1 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")
# Joins the group and takes so many MiB, one every so many ms at most, says so, and holds them until its input ends. It waits
# up to a minute in all for the group to use no more than it is told to.
NEIGHBOUR = """
import sys, time
group, use, most, mib, ms = sys.argv[1:]
with open(group, "w") as procs:
    procs.write("0")
def crowded():
    with open(use) as file:
        return int(file.read()) > int(most)
held, deadline = [], time.monotonic() + 60
for _ in range(int(mib)):  # when it has been kept from running, it does not make up for it
    while crowded() and time.monotonic() < deadline:
        time.sleep(0.002)
    held.append(b"x" * (1 << 20))
    time.sleep(float(ms) / 1000)
print("taken", flush=True)
sys.stdin.read()
"""
# Stores to less than it has, and rests.
PART = """
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  const long n = 240l << 17, part = 100l << 17;
  long *data = malloc(n * sizeof *data);
  for (long i = 0; i < part; i++) data[i] = i;
  sleep(1);
  return data[part - 1] != part - 1;
}
"""
# Fills two arrays, and then asks for one more than there is room for.
FILLED = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const long n = 55l << 17;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (long i = 0; i < n; i++) a[i] = i;
  for (long i = 0; i < n; i++) b[i] = 2 * i;
  double *c = malloc(n * sizeof *c), sum = 0;
  for (long i = 0; i < n; i++) c[i] = a[i] + b[i];
  for (long i = 0; i < n; i++) sum += c[i];
  printf("%.17g\\n", sum);
}
"""

pytestmark = pytest.mark.few


class Paged:
    """sweeps.c, paged in a group, with its budget found out by itself."""

    def __init__(self, program, group, disk_dir, stats, mib, memory="auto"):
        self.stats, self.lines = stats, []
        environment = {"PAGECAST_BACKING": str(disk_dir), "PAGECAST_STATS": str(stats),
                       "PAGECAST_MEMORY": memory, "PATH": "/usr/bin:/bin"}
        self.process = subprocess.Popen([program, str(mib)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment, preexec_fn=group.join)

    def answer(self):
        self.lines.append(self.process.stdout.readline())

    def ask(self, *sweeps):
        try:
            self.process.stdin.write("".join(f"{s}\n" for s in sweeps))
            self.process.stdin.flush()
        except BrokenPipeError:
            pytest.fail(f"the program ended with status {self.process.wait(60)} after {''.join(self.lines)!r}")

    def sweep(self, *sweeps):
        self.ask(*sweeps)
        for _ in sweeps:
            self.answer()

    def rest_until_cleaned(self, mib: int):
        """Leaves the program alone until it has written so much, or for a minute: disks differ."""
        def written() -> int:
            return int(re.search(r"^write_bytes: (\d+)", Path(f"/proc/{self.process.pid}/io").read_text(), re.MULTILINE)[1])
        before, deadline = written(), time.monotonic() + 60
        while written() < before + mib * MIB and time.monotonic() < deadline:
            time.sleep(0.05)

    def finish(self) -> str:
        """The whole output."""
        self.process.stdin.close()
        self.lines.append(self.process.stdout.read())
        assert self.process.wait(60) == 0
        return "".join(self.lines)

    def figures(self) -> dict:
        return json.loads(self.stats.read_text())


@pytest.fixture
def paged(built, tmp_path, disk_dir):
    """A function that starts the program in a group; skips where this host cannot page."""
    program = optimized(built, built.cc, "sweeps.c")
    probe = tmp_path / "probe.json"
    done = built.run(built.pagecast, "run", "--memory", "16M", "--backing", disk_dir, "--stats", probe, "--", program, "32")
    assert done.returncode == 0, done.stderr
    figures = json.loads(probe.read_text())
    if not figures["active"]:
        pytest.skip(figures["why_not"])
    with contextlib.ExitStack() as stack:
        def start(group, mib: int, name: str = "stats", **options) -> Paged:
            started = Paged(program, group, disk_dir, tmp_path / f"{name}.json", mib, **options)
            stack.callback(lambda: started.process.poll() is None and started.process.kill())
            started.answer()
            return started
        yield start


def use_file(group) -> Path:
    version1 = group.path / "memory.usage_in_bytes"
    return version1 if version1.exists() else group.path / "memory.current"


@contextlib.contextmanager
def neighbour(group, mib: int, ms: float = 16, patient: bool = True):
    """Takes memory of the group; if `patient`, as fast as room is made: that of dirty pages is made no faster than the disk writes,
    and disks differ. What it takes at a time is left of what the program keeps free (core/memory/limit.cpp): if none is made after
    that, the test ends there."""
    most = group.limit - MIB if patient else 1 << 62
    process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR, group.path / "cgroup.procs", use_file(group), str(most), str(mib), str(ms)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
        process.stdin.close()
        status = process.wait(30)
        assert status == 0 or not patient and status == -signal.SIGKILL  # the kernel may choose the hasty one
    finally:
        if process.poll() is None:
            process.kill()


def expected(built, mib: int, sweeps: str) -> str:
    return built.run(optimized(built, "clang-19", "sweeps.c"), str(mib), input="".join(f"{s}\n" for s in sweeps)).stdout


def test_an_idle_program_gives_memory_back_and_takes_it_again(built, tmp_path, memory_group, paged):
    group = memory_group(160 * MIB)
    program = paged(group, 240)
    program.sweep("w")
    with neighbour(group, 64) as other:  # the program waits for its next line meanwhile
        assert other.stdout.readline() == "taken\n"
        program.sweep("r")
    program.sweep("w", "r")
    assert program.finish() == expected(built, 240, "wrwr")
    limit = program.figures()["limit"]
    assert not group.was_killed()
    assert limit["least_bytes"] <= limit["most_bytes"] - 56 * MIB
    assert limit["given_back_bytes"] >= 48 * MIB
    assert limit["lowered"] >= 1 and limit["raised"] >= 1


def give_back_to_a_hasty_neighbour(built, group, program) -> bool:
    """Whether the program lives through a neighbour that takes 64 MiB at half a gigabyte a second, and all is as it should be then."""
    program.sweep("w", "r")
    program.rest_until_cleaned(24)
    time.sleep(2)  # nothing happens for long, so that the program seldom looks
    with neighbour(group, 64, 2, patient=False) as other:
        taken = other.stdout.readline()
    if group.was_killed():
        return False
    assert taken == "taken\n"
    program.sweep("r")
    assert program.finish() == expected(built, 240, "wrr")
    figures = program.figures()
    assert figures["limit"]["given_back_bytes"] >= 48 * MIB
    assert figures["releases"]["cleaned"] * PAGE >= 16 * MIB
    return not group.was_killed()


def test_a_neighbour_that_takes_half_a_gigabyte_a_second(built, tmp_path, memory_group, paged):
    """Who gets no processor for some milliseconds cannot give anything back meanwhile: beside other tests, twice in a row is enough."""
    for last in (False, True):
        group = memory_group(160 * MIB)
        if not (group.path / "cgroup.event_control").exists():
            pytest.skip("groups of version 2 do not tell when little is left")
        if give_back_to_a_hasty_neighbour(built, group, paged(group, 240)) or last:
            break
    assert not group.was_killed()


def test_what_an_idle_program_stored_to_is_cleaned_once(memory_group, paged):
    program = paged(memory_group(160 * MIB), 240)
    program.sweep("w")
    program.rest_until_cleaned(24)
    time.sleep(2)  # of 150 MiB at an eighth of a disk's rate
    program.finish()
    assert 16 * MIB <= program.figures()["releases"]["cleaned"] * PAGE <= 240 * MIB


def test_what_is_stored_to_while_it_is_cleaned_is_not_lost(built, tmp_path, memory_group, paged):
    program = paged(memory_group(160 * MIB), 240)
    sweeps = "wwwrwwww"
    for sweep in sweeps:
        program.sweep(sweep)
        time.sleep(0.06)  # in the middle of it
    assert program.finish() == expected(built, 240, sweeps)
    assert program.figures()["releases"]["cleaned"] > 0


def test_nothing_is_cleaned_that_others_do_not_need(memory_group, paged):
    program = paged(memory_group(1024 * MIB), 240, memory="64M")  # what others take is not its
    program.sweep("w")
    time.sleep(1)
    program.finish()
    figures = program.figures()
    assert figures["releases"]["evicted_dirty"] > 0
    assert figures["releases"]["cleaned"] == 0


def test_an_idle_program_whose_data_fit_writes_nothing(built, tmp_path, disk_dir, memory_group):
    source, stats = tmp_path / "part.c", tmp_path / "stats.json"
    source.write_text(PART)
    program = built.compile(built.cc, source, "-O3")
    group = memory_group(160 * MIB)
    environment = {"PAGECAST_BACKING": str(disk_dir), "PAGECAST_STATS": str(stats), "PATH": "/usr/bin:/bin"}
    subprocess.run([program], env=environment, preexec_fn=group.join, check=True, timeout=60)
    figures = json.loads(stats.read_text())
    if not figures["active"]:
        pytest.skip(figures["why_not"])
    assert figures["faults"]["zero_fill_hit"] + figures["faults"]["zero_fill_fault"] >= 100 * MIB // PAGE
    assert figures["io"]["written_bytes"] == 0


def test_what_is_filled_when_paging_starts_may_stay(built, tmp_path, disk_dir, memory_group):
    source, stats = tmp_path / "filled.c", tmp_path / "stats.json"
    source.write_text(FILLED)
    program = built.compile(built.cc, source, "-O3")
    environment = {"PAGECAST_BACKING": str(disk_dir), "PAGECAST_STATS": str(stats), "PATH": "/usr/bin:/bin"}
    subprocess.run([program], env=environment, preexec_fn=memory_group(160 * MIB).join, check=True, timeout=60)
    figures = json.loads(stats.read_text())
    if not figures["active"]:
        pytest.skip(figures["why_not"])
    assert figures["limit"]["least_bytes"] >= 96 * MIB, figures["limit"]


def test_an_idle_program_seldom_looks(memory_group, paged):
    group = memory_group(160 * MIB)
    if not (group.path / "cgroup.event_control").exists():
        pytest.skip("groups of version 2 do not tell when little is left")
    looks = []
    for seconds in (0, 4):
        program = paged(group, 240, f"stats{seconds}")
        program.sweep("w", "r")
        time.sleep(seconds)
        program.finish()
        looks.append(program.figures()["limit"]["looks"])
    assert looks[1] - looks[0] < 200, looks  # 2000 when it looks whenever it may


def test_a_busy_program_gives_memory_back(built, tmp_path, memory_group, paged):
    group = memory_group(160 * MIB)
    program = paged(group, 240)
    sweeps = "wrwrw"
    program.ask(*sweeps)
    with neighbour(group, 64) as other:
        assert other.stdout.readline() == "taken\n"
    for _ in sweeps:
        program.answer()
    assert program.finish() == expected(built, 240, sweeps)
    assert not group.was_killed()
    limit = program.figures()["limit"]
    assert limit["least_bytes"] <= limit["most_bytes"] - 56 * MIB
    assert limit["given_back_bytes"] >= 32 * MIB  # 62, and 47 to 59 on a disk of 100 MB/s: some it did not hold at that moment


def set_limit(group, mib: int) -> bool:
    version1 = group.path / "memory.limit_in_bytes"
    try:
        (version1 if version1.exists() else group.path / "memory.high").write_text(str(mib * MIB))
    except OSError:  # version 1 refuses what is less than the use
        return False
    return True


def held(group) -> int:
    """MiB of the group, now."""
    return int(use_file(group).read_text()) // MIB


def test_a_group_whose_limit_is_lowered_and_raised(built, tmp_path, memory_group, paged):
    group = memory_group(160 * MIB)
    with contextlib.suppress(OSError):  # else it caps the other from below
        (group.path / "memory.memsw.limit_in_bytes").write_text("-1")
    program = paged(group, 240)
    deadline = time.monotonic() + 60
    sweeps = ""
    for _ in range(4):
        assert set_limit(group, 160)
        program.sweep("w")
        mib = 160
        while mib > 112 and time.monotonic() < deadline:
            if set_limit(group, mib - 2):
                mib -= 2
            else:
                time.sleep(0.01)
        assert mib == 112, "the program did not follow"
        program.sweep("r", "w")  # at once: nothing is free but what it makes free
        sweeps += "wrw"
    assert set_limit(group, 224)
    while (grown := held(group)) < 180 and time.monotonic() < deadline:
        program.sweep("r")
        sweeps += "r"
    assert grown >= 180, "the program did not grow"
    assert program.finish() == expected(built, 240, sweeps)
    assert not group.was_killed()
    limit = program.figures()["limit"]
    assert limit["least_bytes"] <= 112 * MIB
    assert limit["raised"] >= 1


# Joins the group, takes memory until so many bytes of it are left, and gives 24 MiB back a while after somebody else has taken some.
HOLDER = """
import sys, time
group, use, left, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(group, "w") as procs:
    procs.write("0")
def used():
    with open(use) as file:
        return int(file.read())
held = [b"x" * (8 << 20) for _ in range(3)]
small = []
while used() < limit - left:
    small.append(b"x" * (64 << 10))
full = used()
print("full", flush=True)
while used() < full + (256 << 10):
    time.sleep(0.001)
time.sleep(0.05)
held.clear()
sys.stdin.read()
"""


def test_a_newcomer_waits_for_room_before_paging_begins(built, memory_group, paged):
    """Paging takes 2 MiB at once when it begins, and who has filled the group has left less than that."""
    group = memory_group(120 * MIB)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, group.path / "cgroup.procs", use_file(group), str(7 * MIB // 4), str(group.limit)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "full\n"
        program = paged(group, 60)
        program.sweep("w", "r")
        assert program.finish() == expected(built, 60, "wr")
        assert not group.was_killed()
        holder.stdin.close()
        assert holder.wait(30) == 0
    finally:
        holder.kill()


@pytest.mark.parametrize("programs", [2, 3])
def test_programs_in_one_group_share_it(built, tmp_path, memory_group, paged, programs):
    group = memory_group(240 * MIB)
    running = []
    for i in range(programs):  # each finds the memory full of the ones before it
        running.append(paged(group, 240, f"stats{i}"))
        running[-1].sweep("w")
    sweeps = "rwrwrwrw"  # a budget rises by a quarter of the group in a second: on a fast disk, four sweeps end before they meet
    for program in running:
        program.ask(*sweeps)
    for program in running:
        for _ in sweeps:
            program.answer()
    outputs = [program.finish() for program in running]
    assert set(outputs) == {expected(built, 240, "w" + sweeps)}
    assert not group.was_killed()
    shares, used = [], []
    for program in running:
        samples = program.figures()["budget"]["over_time"]
        together = samples[-1][0] - running[-1].figures()["budget"]["over_time"][-1][0] / 2
        shares.append(statistics.median(budget for ms, budget, _ in samples if ms >= together))
        used.append(statistics.median(bytes for ms, _, bytes in samples if ms >= together))
    assert max(shares) <= 2 * min(shares), shares
    # Medians over time of what changes hands are not of one moment. If each took the group for its own, it would be the number
    # of programs instead of one and a half.
    assert sum(shares) <= 1.5 * 240 * MIB, shares
    assert sum(used) >= 240 * MIB * 2 / 3, used
