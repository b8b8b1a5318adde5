# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast run --far: the helper that asks an I/O node ahead for ranks that share, and what is left of it."""

import argparse
import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from serving import serving

SOURCE = Path(__file__).parents[1] / "sharing/ranks.c"
WORDS = 1 << 18  # 2 MiB: two halves of 16 storage blocks
RANKS = 4        # even ones share one half in the nest `half`, and odd ones the other
ATTEMPTS = 8     # ranks may be through before the machine has let the helper speak
# The ranks as a launcher starts them: a process each, with its number; the data set under each one's own name.
LAUNCH = ('echo "$PAGECAST_JOB"; for r in $(seq 0 $(($1 - 1))); do PMI_RANK=$r "$2" run --memory 16M --map "data=nbd+unix:///data%3Fclient=$6rank$r?socket=$3" -- '
          '"$4" data "$1" "$5" & done; wait')


@pytest.fixture(scope="module")
def program(built):
    if not (built.pagecast.parent.parent / "lib/pagecast/pagecast-nbd").exists():
        pytest.skip("built without libnbd")
    return built.compile(built.cc, SOURCE, "-O2", "-g", "-pthread")


@pytest.fixture
def data(tmp_path) -> Path:
    directory = tmp_path / "served"
    directory.mkdir()
    (directory / "data").write_bytes(struct.pack(f"<{WORDS}d", *(float(i % 1021) for i in range(WORDS))))
    return directory


@pytest.fixture
def start(tools, program, tmp_path):
    """A function that starts a job: it, and the helper's process number, or 0."""
    jobs = []

    def begin(server, far: str, how: str = "once", name: str = ""):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PAGECAST_", "PMI_"))}
        command = [tools.pagecast, "run", "--far", far, "--", "/bin/sh", "-c", LAUNCH, "sh", RANKS, tools.pagecast, server.socket, program, how, name]
        job = subprocess.Popen([str(c) for c in command], env=clean | {"PAGECAST_GATE": "4K"}, cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        jobs.append(job)
        return job, int(job.stdout.readline().strip() or 0)
    yield begin
    for job in jobs:
        with contextlib.suppress(OSError):
            os.killpg(job.pid, signal.SIGKILL)
        job.communicate()


def expected(program, data, how: str = "once") -> list[str]:
    return sorted(subprocess.run([program, data / "data", str(RANKS), how], env={"PMI_RANK": str(r)}, capture_output=True, text=True,
                                 check=True).stdout for r in range(RANKS))


def end(job) -> list[str]:
    out, said = job.communicate(timeout=120)
    assert job.returncode == 0, said
    return sorted(line + "\n" for line in out.split())


def is_there(pid: int) -> bool:
    """One that has ended, of which its parent has not heard yet, is not."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def wait_until_gone(pid: int):
    until = time.monotonic() + 60
    while is_there(pid):
        assert time.monotonic() < until, f"process {pid} is still there"
        time.sleep(0.01)


def helped(clients: list[dict]) -> list[dict]:
    return [c for c in clients if c["name"].startswith("helper") and c["prefetches"]]


def reported(file: Path) -> dict:
    """The helper ends after its job."""
    until = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < until, "there is no report"
        time.sleep(0.01)
    return json.loads(file.read_text())


@pytest.mark.parametrize("far", ["reserved", "reserved,2", "live", "live,place=own"])
def test_one_helper_asks_for_those_who_share(tools, program, data, start, tmp_path, far):
    """Results are as without, and the report tells of every rank. The helper may come too late: then another run is made."""
    right = expected(program, data)
    for attempt in range(ATTEMPTS):
        file = tmp_path / f"report{attempt}.json"
        with serving(tools, data, "--cache", "1M", "--latency", "5") as server:
            assert end(start(server, f"{far},report={file.name}")[0]) == right
            clients = server.end()["clients"]
        report = reported(file)
        ranks = [m["rank"] for m in report["members"]]
        assert sorted(ranks) == sorted(set(ranks)) and set(ranks) <= set(range(RANKS))
        assert all((m["meetings"] == 0) == (m["met_s"] == 0) for m in report["members"])
        assert report["nests_opened"] >= len(report["nests"]) > 0 and all(n["references"] for n in report["nests"])
        if helped(clients):
            assert report["asked_blocks"] >= sum(c["prefetches"] for c in helped(clients)) and report["teams"] and report["served"]
            return
    raise AssertionError(f"no helper has asked for anything: {clients}")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_a_helper_in_its_own_place_has_a_processor_that_no_rank_uses(tools, data, start, tmp_path):
    may = os.sched_getaffinity(0)
    for place, ranks_have in (("own", may - {max(may)}), ("beside", may)):
        done = tools.run(tools.pagecast, "run", "--far", f"reserved,place={place}", "--", "/bin/sh", "-c",
                         'grep Cpus_allowed_list "/proc/$PAGECAST_JOB/status"; grep Cpus_allowed_list /proc/self/status')
        helpers, ours = (processors(line) for line in done.stdout.splitlines())
        assert (helpers, ours) == ({max(may)} if place == "own" else may, ranks_have), done.stderr


def processors(line: str) -> set[int]:
    """Of a list such as 0-2,5."""
    pairs = [part.partition("-") for part in line.split()[1].split(",")]
    return {p for first, _, last in pairs for p in range(int(first), int(last or first) + 1)}


@pytest.mark.parametrize("far", ["reserved", "live"])
def test_a_helper_that_cannot_ask_serves_nobody(program, data, start, tmp_path, far):
    """Its server takes no requests for its cache. Members would meet for nothing."""
    (data / "data").write_bytes(bytes(8 * WORDS))
    socket = tmp_path / "memory.sock"
    server = subprocess.Popen(["nbdkit", "-f", "-U", socket, "--filter=nocache", "memory", str(8 * WORDS), "cachemode=none"])
    try:
        while not socket.exists():
            assert server.poll() is None
            time.sleep(0.01)
        report = tmp_path / "job.json"
        job, _ = start(argparse.Namespace(socket=socket), f"{far},report={report}")
        assert end(job) == expected(program, data)
        found = reported(report)
        assert (found["teams"], found["asked_blocks"], found["left_blocks"]) == (0, 0, 0)
    finally:
        server.terminate()
        server.wait()


def test_without_a_scheme_nothing_is_started_and_nothing_asked(tools, program, data, start):
    with serving(tools, data, "--cache", "1M") as server:
        job, helper = start(server, "none")
        assert helper == 0 and end(job) == expected(program, data)
        assert server.end()["all"]["prefetches"] == 0


def test_a_helper_that_dies_costs_time_only(tools, program, data, start):
    with serving(tools, data, "--cache", "1M", "--latency", "10") as server:
        job, helper = start(server, "reserved")
        os.kill(helper, signal.SIGKILL)
        assert end(job) == expected(program, data)


def shared_memory() -> set[str]:
    """What lies in it, but for the segments of Open MPI's jobs: other tests run some at the same time."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("vader_segment")}


def test_a_rank_that_is_killed_leaves_nothing_and_others_go_on(tools, program, data, start):
    """It stands in its nest for ever, as the team's last; when an alarm ends it, the others are not waiting for it."""
    shared = shared_memory()
    with serving(tools, data, "--cache", "1M", "--latency", "1") as server:
        job, helper = start(server, "reserved", "stuck")
        right = [line for rank, line in enumerate(expected(program, data)) if line]
        done = end(job)
        assert len(done) == RANKS - 1 and set(done) <= set(right)
        wait_until_gone(helper)
        assert shared_memory() <= shared


def test_under_mpi_a_killed_rank_ends_the_job_and_nothing_is_left(tools, program, data, tmp_path):
    """The launcher ends the others, and says so by its exit status. The helper goes with them."""
    launcher = shutil.which("mpirun.mpich") or shutil.which("mpirun")
    if not launcher:
        pytest.skip("there is no mpirun; apt install mpich")
    shared = shared_memory()
    with serving(tools, data, "--cache", "1M", "--latency", "1") as server:
        done = tools.run(tools.pagecast, "run", "--far", "live", "--map", f"data={server.uri.replace('///?', '///data?')}", "--",
                         "/bin/sh", "-c", 'echo "$PAGECAST_JOB" >helper; exec "$@"', "sh", launcher, "-n", RANKS, program, "data", RANKS, "stuck",
                         env={"PAGECAST_GATE": "4K"}, cwd=tmp_path)
        assert done.returncode != 0, done.stdout
        wait_until_gone(int((tmp_path / "helper").read_text()))
        assert shared_memory() <= shared


def test_a_team_is_given_up_that_waits_for_one_of_them(tools, program, data, start, tmp_path):
    """Three wait for the fourth all the time. From then on they ask for themselves, and results are as without."""
    right = expected(program, data, "slow")
    for attempt in range(ATTEMPTS):
        file = tmp_path / f"report{attempt}.json"
        with serving(tools, data, "--cache", "1M") as server:
            assert end(start(server, f"reserved,interval=2,report={file.name}", "slow")[0]) == right
        report = reported(file)
        if report["given_up"]:
            assert report["teams"] and all(m["meetings"] for m in report["members"] if m["rank"] != 1), report
            return
    raise AssertionError(f"no team was given up: {report}")


def test_two_jobs_on_one_node_have_a_helper_each(tools, program, data, start):
    with serving(tools, data, "--cache", "2M", "--latency", "2") as server:
        jobs = [start(server, "reserved", name=name) for name in "ab"]
        assert jobs[0][1] != jobs[1][1]
        for job, helper in jobs:
            assert end(job) == expected(program, data)
            wait_until_gone(helper)


def test_a_profile_is_used_as_far_as_it_fits(tools, program, data, start, tmp_path):
    """One of three ranks serves four: the last one is told, and asks for itself. One of another program is said to be."""
    launch = 'for r in 0 1 2; do PMI_RANK=$r "$0" "$1" 3 once & done; wait'
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PAGECAST_", "PMI_"))}
    subprocess.run([tools.pagecast, "profile", "-o", tmp_path / "p.json", "--", "/bin/sh", "-c", launch, program, data / "data"], env=clean,
                   check=True, capture_output=True)
    with serving(tools, data, "--cache", "1M", "--latency", "5") as server:
        job, _ = start(server, f"adaptive,smallest=2,profile={tmp_path}/p.json")
        out, said = job.communicate(timeout=120)
        assert job.returncode == 0 and sorted(line + "\n" for line in out.split()) == expected(program, data), said
        assert said in ("", "pagecast: the profile is of 3 ranks: rank 3 and those after it ask for their own blocks\n")
    done = tools.run(tools.pagecast, "run", "--far", f"adaptive,profile={tmp_path}/p.json", "--", "/bin/true")
    assert done.returncode == 0 and "p.json is a profile of" in done.stderr, done.stderr


@pytest.mark.parametrize(("far", "sentence"), [
    ("most", "no scheme; use none, independent, reserved, adaptive or live"), ("live,smallest=0", "smallest '0' is no number from 1"),
    ("live,threshold=x", "threshold 'x' is no number"), ("live,members=3", "there is no 'members'"), ("adaptive", "goes by a profile"),
    ("live,profile=/p.json", "no other scheme does"),
    ("live,2", "only for reserved"), ("reserved,65", "number of helpers '65' is no number from 1 to 64"), ("live,place=far", "neither own"), ("adaptive,profile=/nowhere.json", "/nowhere.json")])
def test_what_no_scheme_is_is_said(tools, far, sentence):
    done = tools.run(tools.pagecast, "run", "--far", far, "--", "/bin/true")
    assert done.returncode != 0 and sentence in done.stderr, done.stderr
