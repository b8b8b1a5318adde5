# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pagecast cannot hurt: programs that fork, take signals, end threads, and treat their mappings roughly do what they
do without it, while their data are paged."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from paging import BUDGET, UNHURT



class Pair:
    """A program in the plain build and in ours, and how to run the latter."""

    def __init__(self, tools, source: Path, directory: Path, disk_dir: Path):
        self.tools, self.disk_dir, self.stats = tools, disk_dir, directory / "stats.json"
        cxx = source.suffix == ".cpp"
        self.plain = tools.compile("clang++-19" if cxx else "clang-19", source, "-O2", "-pthread", "-ldl")
        self.hinted = tools.compile(tools.cxx if cxx else tools.cc, source, "-O2", "-pthread", "-ldl")

    def command(self, *arguments):
        return [self.tools.pagecast, "run", "--memory", str(BUDGET), "--backing", self.disk_dir, "--stats", self.stats, "--",
                self.hinted, *arguments]

    def run(self, *arguments):
        done = self.tools.run(*self.command(*arguments), timeout=300)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done

    def figures(self) -> dict:
        """Of the last run; skips where this host cannot page, with the runtime's own reason."""
        figures = json.loads(self.stats.read_text())
        if not figures["active"]:
            pytest.skip(figures["why_not"])
        return figures

    def same_output(self, *arguments):
        expected = self.tools.run(self.plain, *arguments)
        assert expected.returncode == 0, expected.stderr
        done = self.run(*arguments)
        assert done.stdout == expected.stdout
        # A disk that others keep busy may be slow, and is said to be.
        said = [line for line in done.stderr.splitlines() if "fork() waits for the disk" not in line]
        assert not any("pagecast:" in line for line in said), done.stderr
        assert list(self.disk_dir.iterdir()) == []


@pytest.fixture
def pair(built, tmp_path, disk_dir):
    return lambda name: Pair(built, UNHURT / name, tmp_path, disk_dir)


def test_children_of_fork_have_the_data(pair):
    program = pair("fork.c")
    program.same_output()
    figures = program.figures()
    assert figures["io"]["written_bytes"] > 0
    assert figures["budget"]["peak_bytes"] <= 1.02 * BUDGET


def test_a_program_that_stores_over_its_environment(pair):
    """redis does: what the options name, as the file of statistics, is known to the end."""
    program = pair("retitled.c")
    program.same_output()
    assert program.figures()["finished"] and program.figures()["io"]["written_bytes"] > 0


def test_programs_started_in_every_way(pair):
    program = pair("spawn.c")
    program.same_output()


def test_daemon_keeps_its_data(pair, tmp_path):
    program = pair("daemon.c")
    answers = []
    for command in ([program.plain], program.command()):
        out = tmp_path / f"answer{len(answers)}"
        subprocess.run([str(c) for c in command + [out]], check=True, timeout=60)
        for _ in range(600):
            if out.exists() and len(out.read_text()) == 17:
                break
            time.sleep(0.1)
        answers.append(out.read_text())
    assert answers[0] and answers[0] == answers[1]
    assert list(program.disk_dir.iterdir()) == []


def test_mappings_may_be_treated_roughly(pair):
    program = pair("mappings.c")
    program.same_output()
    figures = program.figures()
    assert figures["io"]["written_bytes"] > 0
    assert figures["budget"]["regions"] == 0 and figures["budget"]["region_bytes"] == 0


def test_locked_memory_stays_and_regions_cannot_be_locked(pair, built):
    program = pair("locked.c")
    program.same_output()
    assert program.figures()["budget"]["region_bytes"] >= 40 << 20
    assert program.run("say").stderr.split() == ["-1", "-1", "-1"]


def test_a_program_that_locks_everything_is_not_paged(pair):
    program = pair("locked.c")
    done = program.run("all")
    assert done.stdout == program.tools.run(program.plain, "all").stdout
    figures = json.loads(program.stats.read_text())
    assert not figures["active"]


def test_direct_reads_of_the_programs_own(pair, tmp_path, disk_dir, built):
    program = pair("direct.c")
    file = disk_dir / "data"
    expected = built.run(program.plain, file)
    if "Invalid argument" in expected.stderr:
        pytest.skip("no direct I/O in the test directory")
    program.same_output(file)
    assert program.figures()["releases"]["evicted_dirty"] > 0


def test_a_hundred_gigabytes_of_address_space(pair):
    program = pair("sparse.c")
    program.same_output()
    figures = program.figures()
    assert figures["budget"]["own_bytes"] < BUDGET
    assert figures["budget"]["peak_bytes"] <= 1.02 * BUDGET


def test_more_than_a_thousand_regions(pair):
    program = pair("regions.c")
    program.same_output()
    figures = program.figures()
    assert figures["budget"]["regions"] > 1000 and figures["io"]["written_bytes"] > BUDGET
    assert figures["budget"]["peak_bytes"] <= 1.02 * BUDGET


def test_signals_in_the_middle_of_faults(pair):
    program = pair("signals.c")
    program.same_output()
    assert program.figures()["io"]["written_bytes"] > 0


@pytest.mark.parametrize("end", ["return", "exit", "quick", "now"])
def test_threads_and_nests_that_end_early(pair, end):
    program = pair("threads.cpp")
    program.same_output(end)


def test_ten_thousand_threads_give_hints(pair):
    program = pair("hints.c")
    expected = program.tools.run(program.plain)
    done = program.run()
    assert done.stdout == expected.stdout
    figures = program.figures()
    refused, before, after = (int(word) for word in done.stderr.split())
    assert figures["hints"]["by_hand"] > 100_000
    assert 0 < refused == figures["hints"]["dropped"]
    # Nothing is kept of a thread that has gone, whether it ran nests or ended inside one.
    grown = after - before
    assert grown <= 2560
    assert after << 10 <= BUDGET + (16 << 20)
    assert figures["hints"]["nests_declined"] < figures["hints"]["nests_opened"]
    assert figures["budget"]["peak_bytes"] <= 1.02 * BUDGET
    assert figures["hints"]["nests_opened"] > 500


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_ends_the_program_leaves_nothing(pair, sign):
    program = pair("signals.c")
    child = subprocess.Popen([str(c) for c in program.command(1_000_000)], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"paging\n"
        for _ in range(3):  # stopped and continued, it goes on
            os.kill(child.pid, signal.SIGSTOP)
            os.kill(child.pid, signal.SIGCONT)
        assert child.poll() is None
        os.kill(child.pid, sign)
        assert child.wait(20) == -sign
    finally:
        child.kill()
    assert list(program.disk_dir.iterdir()) == []


def test_unloaded_objects_with_large_globals(pair, built):
    program = pair("plugin.c")
    plugin = built.compile(built.cc, UNHURT / "plugin.c", "-O2", "-pthread", "-ldl", "-DPLUGIN", "-shared", "-fPIC")
    program.same_output(plugin)
    assert program.figures()["hints"]["nests_opened"] > 0


@pytest.mark.parametrize("name, what", [("jumps.c", "jump"), ("jumps.c", "look"), ("jumps.cpp", "jump"), ("jumps.cpp", "throw")])
def test_handlers_find_the_data_where_a_loop_stores_over_them(pair, name, what):
    program = pair(name)
    program.same_output(what)
    assert program.figures()["hints"]["nests_opened"] > 0
    assert program.figures()["hints"]["overwritten_pages"] == 0


def test_handlers_that_only_take_note_need_not_cost_reads(pair):
    program = pair("jumps.c")
    assert program.tools.run(*program.command("look"), env={"PAGECAST_OVERWRITE": "2"}).returncode == 0
    assert program.figures()["hints"]["overwritten_pages"] > 0


@pytest.mark.parametrize("what, after_us", [("late", 0), ("late", 20000), ("fork", 5000), ("cancel", 0), ("cancel", 20000),
                                            ("defer", 0), ("defer", 20000)])
def test_what_comes_between_the_stores_of_another_thread(pair, what, after_us):
    program = pair("jumps.c")
    program.same_output(what, after_us)
    assert program.figures()["hints"]["overwritten_pages"] > 0  # before that


PROMPT = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { kBytes = 48 << 20 };
int main(void) {
  unsigned char *data = malloc(kBytes);
  for (size_t i = 0; i < kBytes; i += 64) data[i] = 1;
  uint64_t x = 88172645463325252u;
  while (getppid() > 1) { /* nothing foretells any of it */
    static char answer = 'f';
    for (int i = 0; answer == 'f' && i < 100; ++i) x ^= x << 13, x ^= x >> 7, x ^= x << 17, data[x % kBytes]++;
    if (answer == 'm') { /* the pager hears of that */
      void *volatile block = malloc(4 << 20);
      free(block);
    }
    if (write(1, "w", 1) != 1 || read(0, &answer, 1) != 1 || answer == 'e') break;
  }
}
"""


def scheduler_of_pager(pid: int) -> int:
    (pager,) = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()
                if (task / "comm").read_text() == "pagecast-pager\n"]
    return os.sched_getscheduler(pager)


def test_pager_is_prompt_only_while_the_program_waits_for_it(built, disk_dir, tmp_path):
    """It was always of the batch class, and each fault took three to ten times as long beside programs that compute."""
    (tmp_path / "p.c").write_text(PROMPT)
    program = built.compile("clang-19", tmp_path / "p.c", "-O2")
    command = [built.pagecast, "run", "--memory", str(BUDGET), "--backing", disk_dir, "--stats", tmp_path / "stats.json", "--", program]
    with subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        seen = set()
        for _ in range(200):
            process.stdout.read(1)  # a hundred faults have just been served
            seen.add(scheduler_of_pager(process.pid))
            if os.SCHED_OTHER in seen:
                break
            process.stdin.write(b"f")
        assert os.SCHED_OTHER in seen
        for _ in range(600):  # no fault comes; a thread that sleeps stays of its class until something else wakes it
            time.sleep(0.1)
            process.stdin.write(b"m")
            process.stdout.read(1)
            if scheduler_of_pager(process.pid) == os.SCHED_BATCH:
                break
        assert scheduler_of_pager(process.pid) == os.SCHED_BATCH
        process.stdin.write(b"e")
    assert process.returncode == 0
