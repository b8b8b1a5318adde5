# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast run --summary: what it says of a run, and that the program ends as it would without."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FILL = Path(__file__).with_name("fill.c")


def summary(done, returncode=0) -> str:
    assert done.returncode == returncode, done
    [line] = done.stderr.splitlines()
    assert line.startswith("pagecast: ")
    return line


def summarized(tools, *command, **kw):
    return tools.run(tools.pagecast, "run", "--memory", "16M", "--backing", "/var/tmp", "--summary", *command, **kw)


def test_a_summary_of_statistics_by_process_names_their_files(tools, tmp_path):
    done = tools.run(tools.pagecast, "run", "--summary", "--stats", tmp_path / "s%p.json", "--", "true")
    assert done.returncode == 0 and done.stderr.startswith("pagecast: what each process did") and "s%p.json" in done.stderr


def test_a_summary_says_what_the_run_did(built, tmp_path):
    for compiler in (built.cc, "clang-19"):
        program = built.compile(compiler, FILL, "-O2")
        line = summary(summarized(built, "--stats", tmp_path / "s.json", "--", program, "48"))
        figures = json.loads((tmp_path / "s.json").read_text())
        if not figures["active"]:
            pytest.skip(figures["why_not"])
        faults = figures["faults"]
        foreseen = faults["prefetched_hit"] + faults["late"]
        share = 100 * foreseen / (foreseen + faults["not_prefetched"])
        [read, wrote] = re.findall(r"(?:read|wrote) ([\d.]+) MiB", line)
        assert float(read) == pytest.approx(figures["io"]["read_bytes"] / 2**20, abs=0.1)
        assert float(wrote) == pytest.approx(figures["io"]["written_bytes"] / 2**20, abs=0.1)
        assert f"; {share:.0f} % of the pages read were foreseen; " in line
        assert " s, of which threads waited " in line and line.rsplit("; ", 1)[1].startswith(("next: ", "nothing is left to gain"))
        assert sum(figures["stall_by_kind"].values()) == pytest.approx(figures["time"]["stall_s"], abs=1e-5)


def test_it_is_of_the_program_that_a_launcher_becomes(tools, tmp_path):
    """And not of a command that the launcher ran before, though that ended first."""
    line = summary(summarized(tools, "--stats", tmp_path / "s.json", "--", "sh", "-c", "x=$(/bin/echo hi); exec sleep 0.3"))
    figures = json.loads((tmp_path / "s.json").read_text())
    assert figures["time"]["wall_s"] >= 0.3 and figures["finished"] and not figures["active"]
    assert float(re.match(r"pagecast: ([\d.]+) s; nothing was paged", line)[1]) >= 0.3


def test_it_is_of_the_child_that_paged_something(built, tmp_path):
    program = built.compile("clang-19", FILL, "-O2")
    done = summarized(built, "--stats", tmp_path / "s.json", "--", "bash", "-c", f"{program} 48; true")
    figures = json.loads((tmp_path / "s.json").read_text())
    if "cannot be paged" in done.stderr:
        pytest.skip(figures["why_not"])
    assert done.returncode == 0 and figures["active"] and figures["faults"]["events"] > 0


def test_waits_are_told_apart(built, tmp_path):
    """Where nothing is fetched ahead, no read is late, and no time is spent on late reads."""
    program = built.compile("clang-19", FILL, "-O2")
    assert "% of the pages read were foreseen" in summary(summarized(built, "--option", "history=0", "--stats", tmp_path / "s.json", "--", program, "48"))
    waits = json.loads((tmp_path / "s.json").read_text())["stall_by_kind"]
    assert waits["late_s"] == 0 and waits["not_prefetched_s"] > 0 and waits["zero_fill_s"] > 0


WAITED = {"version": 1, "active": True, "compiled": True, "back_end": "pager", "sites": [], "files": {"major_faults": 0},
          "faults": {"prefetched_hit": 9900, "late": 0, "not_prefetched": 100}, "time": {"wall_s": 10, "stall_s": 8},
          "stall_by_kind": {"late_s": 1, "not_prefetched_s": 1, "zero_fill_s": 1, "protect_s": 1, "room_s": 1}}


@pytest.mark.parametrize("figures, said", [
    ({"stall_by_kind": {"late_s": 5, "not_prefetched_s": 3}}, "5 s of it for reads that were on their way; .*faster disk"),
    ({"stall_by_kind": {"late_s": 3, "not_prefetched_s": 5}}, "5 s of it for reads that nothing foresaw; .*99 % .*explain --run"),
    ({"stall_by_kind": {"protect_s": 5, "late_s": 1}}, "next: try --release none"),
    ({"stall_by_kind": {"room_s": 5, "late_s": 1}}, "stores faster than the disk takes"),
    ({"stall_by_kind": {"room_s": 5}, "trouble": {"no_room": 3, "full_s": 4}}, "next: free room in the backing directory.* 4 s$"),
    ({"stall_by_kind": {"zero_fill_s": 5}, "faults": {"zero_fill_hit": 100, "zero_fill_fault": 90}}, "each new page costs a fault"),
    ({"stall_by_kind": {"zero_fill_s": 5}, "faults": {"zero_fill_hit": 28770, "zero_fill_fault": 528}}, "stores faster than the disk takes"),
    ({"stall_by_kind": {"late_s": 5}, "io": {"read_bytes": 11 << 30}, "budget": {"most_region_bytes": 264 << 20}},
     "a part of the data before the next part, since 264 MiB of data were read 42 times over$"),
    ({"stall_by_kind": {"late_s": 5}, "io": {"read_bytes": 1 << 30}, "budget": {"most_region_bytes": 264 << 20}}, "asked for in time$"),
    ({"time": {"wall_s": 10, "stall_s": 0.5}}, "nothing is left to gain"),
    ({"time": {"wall_s": 10, "stall_s": 0.5}, "files": {"major_faults": 50000}}, "docs/files.md, since it waited at 50000 faults"),
    ({"time": {"wall_s": 10, "stall_s": None}, "stall_by_kind": None, "back_end": "advise, with memory in a file: none"}, "not measured.*pagecast doctor")])
def test_the_next_step_is_chosen_by_what_was_waited_for(tools, tmp_path, figures, said):
    """The program writes the figures itself: the runtime leaves them alone, as nothing was paged."""
    wrote = json.dumps(WAITED | figures)
    done = summarized(tools, "--stats", tmp_path / "s.json", "--", "/bin/sh", "-c", f"echo '{wrote}' >$PAGECAST_STATS")
    assert re.search(said, summary(done)), done.stderr


def test_the_next_step_names_the_file_that_the_user_gave(tools, tmp_path):
    wrote = json.dumps(WAITED | {"stall_by_kind": {"not_prefetched_s": 5}})
    write = f"echo '{wrote}' >$PAGECAST_STATS"
    named = summary(summarized(tools, "--stats", tmp_path / "s.json", "--", "/bin/sh", "-c", write))
    assert f"pagecast explain --run {tmp_path / 's.json'} FILE" in named
    assert "pagecast explain --run STATS.JSON FILE" in summary(summarized(tools, "--", "/bin/sh", "-c", write))


@pytest.mark.parametrize("program, next_step", [
    ("sh", "more memory with --memory, since it goes over its data"), ("python", "pagecast.prefetch"), ("script", "more memory"), ("own", "compile it")])
def test_who_has_no_source_at_hand_is_not_told_to_compile(tools, tmp_path, program, next_step):
    """R's interpreter comes with the system, as the shell does; a script's comes from elsewhere."""
    wrote = json.dumps(WAITED | {"stall_by_kind": {"not_prefetched_s": 5}, "compiled": False})
    command = tmp_path / program
    if program in ("python", "own"):
        shutil.copy("/bin/sh", command)
    elif program == "script":
        command.write_text('#!/bin/sh\neval "$2"\n')
        command.chmod(0o755)
    else:
        command = "/bin/sh"
    done = summarized(tools, "--stats", tmp_path / "s.json", "--", command, "-c", f"echo '{wrote}' >$PAGECAST_STATS")
    assert next_step in summary(done)


def test_a_summary_without_the_pager_claims_nothing_that_was_not_measured(built, tmp_path):
    program = built.compile(built.cc, FILL, "-O2")
    done = summarized(built, "--option", "backend=advise", "--stats", tmp_path / "s.json", "--", program, "48")
    figures = json.loads((tmp_path / "s.json").read_text())
    if not figures["active"]:
        pytest.skip(figures["why_not"])
    assert figures["time"]["stall_s"] is None and figures["stall_by_kind"] is None
    line = summary(done)
    assert "not measured" in line and "hardly waited" not in line and "userfaultfd" in line
    assert re.search(r" - +0 B ", built.run(built.pagecast, "report", tmp_path / "s.json").stdout)


def test_a_summary_of_a_run_in_which_nothing_was_paged(built, tmp_path):
    (tmp_path / "tmp").mkdir()
    line = summary(summarized(built, "--", built.compile(built.cc, FILL, "-O2"), "1", env={"TMPDIR": tmp_path / "tmp"}))
    assert "; nothing was paged: large data fit in the budget" in line
    assert not list((tmp_path / "tmp").iterdir()), "its own statistics go with it"


def test_a_summary_does_not_change_how_the_program_ends(tools, tmp_path):
    assert "read" not in summary(summarized(tools, "--", "/bin/sh", "-c", "exit 7"), 7).split("nothing was paged")[0]
    line = summary(summarized(tools, "--", "/bin/sh", "-c", "kill -TERM $$"), -signal.SIGTERM)
    assert "left no statistics, as it was ended by SIGTERM" in line
    quick = tmp_path / "quick.py"
    quick.write_text("import os; os._exit(0)")
    line = summary(summarized(tools, "--", sys.executable, quick))
    assert "left no statistics, as it is linked statically, or paged nothing and left by another way than main or exit" in line
    done = summarized(tools, "--", "/nowhere")
    assert done.returncode == 127 and "does not exist" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.fixture
def interrupted(tools, tmp_path):
    """Starts a shell script under a summary, which says ready, sends the command alone a signal, and has its status and errors."""
    def run(script, sent):
        (tmp_path / "tmp").mkdir(exist_ok=True)
        with subprocess.Popen([tools.pagecast, "run", "--summary", "--", "/bin/sh", "-c", script], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}) as command:
            assert command.stdout.readline() == "ready\n"
            command.send_signal(sent)
            rest, errors = command.communicate(timeout=60)  # which ends when no process has the pipes
            return command.returncode, rest, errors
    return run


WAITS = "echo ready; while :; do sleep 0.05; done"


@pytest.mark.parametrize("sent", ["TERM", "INT", "QUIT", "HUP"])
def test_a_signal_to_the_command_reaches_the_program_under_a_summary(interrupted, sent):
    status, _, errors = interrupted(f"trap 'exit 5' {sent}; {WAITS}", getattr(signal, f"SIG{sent}"))
    assert status == 5 and errors.startswith("pagecast: "), errors


def test_a_program_that_a_signal_ends_ends_the_command_so(interrupted, tmp_path):
    status, _, errors = interrupted(WAITS, signal.SIGINT)
    assert status == -signal.SIGINT and errors.startswith("pagecast: "), errors
    assert not list((tmp_path / "tmp").iterdir())


def test_a_program_may_go_on_after_a_signal(interrupted):
    """As one that counts interruptions does."""
    status, rest, _ = interrupted(f"trap 'echo caught; exit 0' INT; {WAITS}", signal.SIGINT)
    assert (status, rest) == (0, "caught\n")


def test_a_command_that_is_killed_takes_the_program_with_it(tools, interrupted, tmp_path):
    """Its folder is left, and the next command takes it away; not that of one which runs."""
    assert interrupted(f"trap : INT TERM HUP; {WAITS}", signal.SIGKILL)[0] == -signal.SIGKILL
    assert len(list((tmp_path / "tmp").iterdir())) == 1
    used = "ls $TMPDIR; $0 run --summary -- true; ls $TMPDIR"
    done = tools.run(tools.pagecast, "run", "--summary", "--", "/bin/sh", "-c", used, tools.pagecast, env={"TMPDIR": str(tmp_path / "tmp")})
    before, after = done.stdout.split()
    assert before == after and not list((tmp_path / "tmp").iterdir())


UNTIL_THERE = """#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
int main(int c, char **v) {
  long n = 48 << 17;
  double *a = malloc(n * 8), sum = 0;
  struct stat s;
  for (long i = 0; i < n; i++) a[i] = i;
  do
    for (long i = 0; i < n; i++) sum += a[i];
  while (stat(v[1], &s) || s.st_size == 0);
  return sum < 0 || raise(SIGKILL);
}
"""


def test_a_run_that_is_killed_leaves_statistics(built, tmp_path):
    (tmp_path / "until.c").write_text(UNTIL_THERE)
    program = built.compile(built.cc, tmp_path / "until.c", "-O2")
    stats = tmp_path / "s.json"
    line = summary(summarized(built, "--stats", stats, "--", program, stats), -signal.SIGKILL)
    figures = json.loads(stats.read_text())
    assert figures["finished"] is False and figures["compiled"] and figures["active"] and figures["io"]["written_bytes"] > 0
    assert "was ended by SIGKILL; the last figures before that: " in line and " MiB" in line
    assert sorted(tmp_path.glob("s.json*")) == [stats]
