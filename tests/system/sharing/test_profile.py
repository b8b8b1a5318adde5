# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast profile: which ranks share what they read, in each phase."""

import json
import shutil
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE = Path(__file__).parent
BLOCK = 64 << 10
PER_MIB = (1 << 20) // BLOCK


@pytest.fixture(scope="module")
def ranks(built):
    return built.compile(built.cc, HERE / "ranks.c", "-O2", "-g")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of so many MiB, which hold nothing."""
    place = tmp_path_factory.mktemp("data")

    def file(mib: int, name: str = "data") -> Path:
        path = place / f"{name}{mib}"
        with open(path, "wb") as f:
            f.truncate(mib << 20)
        return path
    return file


def launch(count: int, *command) -> list:
    """What runs that many ranks of the command at a time, as a launcher of MPI would, and ends with the number of those that failed."""
    script = 'n=$1; shift; for r in $(seq 0 $((n - 1))); do PMI_RANK=$r "$@" & done; e=0; for j in $(jobs -p); do wait $j || e=$((e + 1)); done; exit $e'
    return ["bash", "-c", script, "launch", count, *command]


@pytest.fixture
def profile(tools, ranks, tmp_path):
    """Takes a profile of so many ranks; its file, and what the command said."""
    def take(count: int, data: Path, how: str = "once", name: str = "p", failing: int = 0, program: Path | None = None):
        file = tmp_path / f"{name}.json"
        done = tools.run(tools.pagecast, "profile", "-o", file, "--", *launch(count, program or ranks, data, count, how))
        assert done.returncode == failing, done.stderr
        return file, done.stderr
    return take


@pytest.fixture
def show(tools):
    def show(file: Path, *options) -> dict:
        done = tools.run(tools.pagecast, "profile", "show", file, "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return show


def phase(shown: dict, function: str) -> dict:
    return next(p for p in shown["phases"] if p["function"] == function)


def clusters(of: dict) -> list[list[str]]:
    return [c["members"] for c in of["clusters"] if c["helper"]]


@pytest.mark.check
def test_those_who_share_get_one_helper_in_each_phase(tools, profile, show, files):
    file, said = profile(8, files(4))
    assert "8 members, 3 phases and 1 data set " in said
    shown = show(file)
    own, half, picked = (phase(shown, f) for f in ("own", "half", "picked"))
    assert [m["name"] for m in half["members"]] == list("01234567")
    assert {m["blocks"] for m in half["members"]} == {2 * PER_MIB} and half["blocks"] == 4 * PER_MIB
    assert half["densities"] == [[float(a % 2 == b % 2) for b in range(8)] for a in range(8)]
    assert clusters(half) == [list("0246"), list("1357")]
    assert {m["blocks"] for m in own["members"]} == {PER_MIB // 2} and clusters(own) == []
    assert own["kind"] == "nest" and own["name"] == f"own:{own['line']}" and own["unseen"] == 0
    assert picked["unseen"] == 1, "what goes through an index is counted, and not seen"
    text = tools.run(tools.pagecast, "profile", "show", file).stdout
    assert "{0, 2, 4, 6}: one helper for all\n" in text and "8 prefetch each for itself\n" in text
    assert "go through indices; what they touch is not seen" in text or "goes through indices; what they touch is not seen" in text


def test_thresholds_are_options(profile, show, files):
    file, _ = profile(4, files(4))
    assert clusters(phase(show(file), "half")) == [], "two are too few"
    assert clusters(phase(show(file, "--smallest", 2), "half")) == [["0", "2"], ["1", "3"]]
    assert clusters(phase(show(file, "--threshold", 0), "half")) == [list("0123")]
    assert sorted(p["name"] for p in show(file, "--by", "function")["phases"]) == ["half", "own", "picked"]


def test_the_picture_has_a_colour_for_each_and_a_ring_for_each_cluster(profile, show, files):
    file, _ = profile(8, files(4))
    picture = Path(show(file)["picture"])
    assert picture == file.with_suffix(".svg")
    elements = list(ElementTree.parse(picture).getroot())
    of = {kind: [e for e in elements if e.get("class") == kind] for kind in ("touched", "cluster")}
    assert len({e.get("stroke") for e in of["touched"]}) == len(of["touched"]) == 8
    assert sorted(e[0].text.split(": ")[1] for e in of["cluster"] if "half" in e[0].text) == [
        "members 0, 2, 4, 6", "members 1, 3, 5, 7"]
    before = picture.read_bytes()
    show(file, "--svg", picture)
    assert picture.read_bytes() == before, "the same profile makes the same picture"


def test_a_profile_of_one_input_serves_a_run_on_another(profile, show, files):
    small, _ = profile(8, files(2), name="small")
    large, _ = profile(8, files(12), name="large")
    run = show(small, "--run", large)["run"]
    assert run["misfits"] == []
    served = next(p for p in run["phases"] if p["name"].startswith("half"))
    assert served == {"name": served["name"], "known": True, "clusters": [
        {"members": list("0246"), "density": 1.0}, {"members": list("1357"), "density": 1.0}]}


def test_of_another_number_of_ranks_what_fits_is_used(profile, show, files):
    eight, _ = profile(8, files(2), name="eight")
    six, _ = profile(6, files(2), name="six")
    run = show(eight, "--run", six)["run"]
    assert len(run["misfits"]) == 1 and "has 8 members and the run 6" in run["misfits"][0]
    served = next(p for p in run["phases"] if p["name"].startswith("half"))
    assert [c["members"] for c in served["clusters"]] == [list("024"), list("135")]
    assert [c["density"] for c in served["clusters"]] == [1, 1]


def test_a_profile_of_another_program_is_said_to_be_one(tools, profile, show, files, ranks, tmp_path):
    file, _ = profile(3, files(2))
    other = tmp_path / "other"
    shutil.copy(ranks, other)
    reads, _ = profile(3, files(2), "reads", name="reads", program=other)
    run = show(file, "--run", reads)["run"]
    assert len(run["misfits"]) == 2 and "of another program, ranks" in run["misfits"][0]
    assert "does not have the phase read_half reads" in run["misfits"][1]
    assert "for that run:\n  the profile is of another program" in tools.run(
        tools.pagecast, "profile", "show", file, "--run", reads).stdout


def test_what_a_killed_rank_wrote_is_kept_as_what_the_others_did(profile, show, files):
    file, said = profile(4, files(4), "stuck", failing=1)
    assert "member 1 ended in the middle of a nest" in said
    members = json.loads(file.read_text())["members"]
    assert [(m["name"], m["finished"]) for m in members] == [("0", True), ("1", False), ("2", True), ("3", True)]
    half = phase(show(file), "half")
    assert half["densities"][1] == [0, 1, 0, 1], "on entry all of the nest is known"


def test_files_that_are_read_count_by_the_function_that_reads(profile, show, files):
    file, _ = profile(4, files(2), "reads")
    shown = show(file, "--smallest", 2)
    assert [p["name"] for p in shown["phases"]] == ["read_half reads"]
    assert shown["phases"][0]["kind"] == "reads" and shown["phases"][0]["blocks"] == 2 * PER_MIB
    assert clusters(shown["phases"][0]) == [["0", "2"], ["1", "3"]]


def test_children_of_a_fork_are_members(tools, ranks, show, files, tmp_path):
    done = tools.run(tools.pagecast, "profile", "-o", tmp_path / "p.json", "--", ranks, files(2), 4, "fork")
    assert (done.returncode, done.stdout) == (0, "0\n" * 4), done.stderr
    half = phase(show(tmp_path / "p.json", "--smallest", 2), "half")
    assert sorted(m["name"] for m in half["members"]) == [f"process {i}" for i in range(4)]
    assert sorted(len(c) for c in clusters(half)) == [2, 2]


def test_threads_are_members(tools, ranks, show, files, tmp_path):
    done = tools.run(tools.pagecast, "profile", "-o", tmp_path / "p.json", "--", ranks, files(2), 6, "threads", env={"PMI_RANK": "5"})
    assert (done.returncode, done.stdout) == (0, "0\n" * 6), done.stderr
    half = phase(show(tmp_path / "p.json"), "half")
    assert [m["name"] for m in half["members"]] == [f"5.{i}" for i in range(6)], "in the order of their making"
    assert clusters(half) == [["5.0", "5.2", "5.4"], ["5.1", "5.3", "5.5"]]


def test_rows_that_are_read_over_and_over_are_few_records(tools, ranks, files, tmp_path):
    """51,200 entries for each member of eight rows a block, in a second or less."""
    done = tools.run(ranks, files(4), 2, "rows", env={"PAGECAST_PROFILE": str(tmp_path), "PMI_RANK": "1"})
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    (part,) = tmp_path.iterdir()
    head = struct.unpack_from("=8sIIqQQQQQ", part.read_bytes())
    assert head[0] == b"pgctouch" and head[3] == 1, "its rank"
    assert head[8] == 0, "nothing was dropped"
    assert 32 * 72 < head[7] < 51200 * 72 / 4


def test_entries_are_all_there_where_they_are_asked_for(tools, ranks, files, tmp_path):
    """64 rows are read 200 times: what a simulation makes again must not lack those that touch the same blocks as the one before."""
    file = tmp_path / "p.json"
    done = tools.run(tools.pagecast, "profile", "--entries", "-o", file, "--", ranks, files(1), 2, "rows", env={"PMI_RANK": "1"})
    assert done.returncode == 0, done.stderr
    made = json.loads(file.read_text())
    entries = [e for e in made["entries"] if made["phases"][e["phase"]]["function"] == "row"]
    assert len(entries) == 12800
    begins = [e["begin"] for e in entries]
    assert begins == sorted(begins) and all(e["end"] >= e["begin"] and e["stored"] == 0 for e in entries)
    assert {e["first"] // 8192 for e in entries} == set(range(64, 128)), "each row of its part, to the byte"


def test_under_mpi_ranks_are_those_of_mpi(tools, ranks, show, files, tmp_path):
    launcher = shutil.which("mpirun") or shutil.which("mpiexec")
    if not launcher:
        pytest.skip("there is no mpirun; apt install mpich")
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}  # Open MPI's
    done = tools.run(tools.pagecast, "profile", "-o", tmp_path / "p.json", "--", launcher, "-n", 3, ranks, files(2), 3, "once", env=env)
    assert done.returncode == 0, done.stderr
    assert [m["name"] for m in phase(show(tmp_path / "p.json"), "own")["members"]] == ["0", "1", "2"]


def test_what_cannot_be_is_said(tools, ranks, files, tmp_path):
    def fails(*arguments, status=2) -> str:
        done = tools.run(tools.pagecast, "profile", *arguments, cwd=tmp_path)
        assert done.returncode == status and done.stderr.startswith("pagecast: ") and done.stderr.count("\n") == 1, done.stderr
        return done.stderr
    (tmp_path / "bad.json").write_text('{"version": 1, "kind": "pagecast profile"')
    assert "no program was given; write pagecast profile -o" in fails()
    assert "nowhere does not exist" in fails("--", "./nowhere", status=127)
    assert "cannot be written: is a directory" in fails("-o", tmp_path, "--", "true")
    assert "is no profile: it is not the JSON" in fails("show", "bad.json")
    assert "none.json cannot be read: no such file" in fails("show", "none.json")
    (tmp_path / "bad.json").write_text(json.dumps({"version": 1, "kind": "statistics"}))
    assert "is no profile: it is something else" in fails("show", "bad.json")
    done = tools.run(tools.pagecast, "profile", "-o", tmp_path / "p.json", "--", "true")
    assert done.returncode == 0 and "nothing was noted" in done.stderr
    assert tools.run(tools.pagecast, "profile", "show", tmp_path / "p.json").returncode == 0


@pytest.mark.parametrize("spoil", [lambda j: j["phases"][0]["touched"][0].update(member=99), lambda j: j.update(version=9),
                                   lambda j: j["phases"][0]["touched"][0].update(blocks=[[1 << 60, 1 << 60]])])
def test_a_profile_that_does_not_hold_together_is_refused(tools, profile, files, spoil):
    file, _ = profile(2, files(2))
    content = json.loads(file.read_text())
    spoil(content)
    file.write_text(json.dumps(content))
    done = tools.run(tools.pagecast, "profile", "show", file)
    assert done.returncode == 2 and "is no profile: it" in done.stderr, done.stderr
