# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast report and pagecast top: what runs did, and what programs do now."""

import json
import os
import pty
import re
import signal
import subprocess
import sys

import pytest

from places import ROOT

PAGED = "d = bytearray(96 << 20)\nfor i in range(0, len(d), 4096): d[i] = 1\nprint(sum(d[i] for i in range(0, len(d), 4096)), flush=True)\n"


@pytest.fixture(scope="module")
def run(tools, tmp_path_factory):
    """The statistics of a run that paged."""
    place = tmp_path_factory.mktemp("report")
    done = tools.run(tools.pagecast, "run", "--memory", "32M", "--stats", place / "s.json", "--", sys.executable, "-c", PAGED)
    assert (done.returncode, done.stdout) == (0, f"{96 << 8}\n"), done.stderr
    return place / "s.json"


@pytest.fixture
def running(tools, tmp_path):
    """A program that is paged and goes on until its input ends."""
    command = [tools.pagecast, "run", "--memory", "32M", "--stats", "s%p.json", "--", sys.executable, "-c", PAGED + "input()"]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as program:
        assert program.stdout.readline() == f"{96 << 8}\n"
        yield program
        program.communicate("\n")


def test_a_report_has_a_row_for_each_run(tools, run, tmp_path):
    nothing = tmp_path / "nothing.json"
    assert tools.run(tools.pagecast, "run", "--stats", nothing, "--", "true").returncode == 0
    said = tools.run(tools.pagecast, "report", run, nothing)
    assert said.returncode == 0, said.stderr
    head, paged, idle = said.stdout.splitlines()
    assert head.split() == ["file", "seconds", "waited", "read", "written", "foreseen", "late", "missed", "state"]
    assert paged.split()[0] == str(run) and paged.endswith("  paged") and "MiB" in paged and "%" in paged
    assert "not paged: large data fit in the budget" in idle and "%" not in idle


def test_a_run_that_was_interrupted_is_said_to_be_one(tools, run, tmp_path):
    cut_short = tmp_path / "cut.json"
    cut_short.write_text(json.dumps(json.loads(run.read_text()) | {"finished": False}))
    said = tools.run(tools.pagecast, "report", cut_short)
    assert said.stdout.splitlines()[1].endswith("  paged; still running, or interrupted or killed"), said


def test_a_report_as_json_says_what_the_file_says(tools, run):
    (said,) = json.loads(tools.run(tools.pagecast, "report", "--json", run).stdout)
    wrote = json.loads(run.read_text())
    assert (said["active"], said["finished"], said["why_not"]) == (True, True, None)
    assert said["read_bytes"] == wrote["io"]["read_bytes"] > 0 and said["stall_s"] == wrote["time"]["stall_s"]
    assert said["faults"] == wrote["faults"]
    foreseen = wrote["faults"]["prefetched_hit"] + wrote["faults"]["late"]
    assert said["foreseen_share"] == pytest.approx(foreseen / (foreseen + wrote["faults"]["not_prefetched"]))


def documented() -> set[str]:
    """The fields of docs/fields.md, as "object.field", or "field" where they are in no object."""
    found = set()
    for section in (ROOT / "docs" / "fields.md").read_text().split("\n## ")[1:]:
        heading, table = section.split("\n", 1)
        holder = "" if " " in heading else heading.removesuffix("[]") + "."
        for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
            found |= {name if "." in name or name.endswith("[]") else holder + name for name in re.findall(r"`(.*?)`", cell)}
    return found


def test_each_field_is_documented(run):
    wrote = json.loads(run.read_text())
    known = documented()
    missing = [name for name, value in wrote.items() if not isinstance(value, (dict, list)) and name not in known]
    for name, value in wrote.items():
        for one in value if isinstance(value, list) else [value] if isinstance(value, dict) else []:
            missing += [f"{name}.{field}" for field in one if f"{name}.{field}" not in known and f"{name}[]" not in known]
    assert not missing


@pytest.mark.parametrize("command", [
    ("report", "{}"), ("explain", "--run", "{}", __file__), ("explain", "{}.yaml"), ("profile", "show", "{}"),
    ("profile", "-o", "{}", "--", "true")])
@pytest.mark.parametrize("wrong, why", [("folder", "is a directory"), ("fails", "input/output error")])
def test_what_cannot_be_read_is_said(tools, tmp_path, command, wrong, why):
    """Of a directory, and of a file that can be opened but not read, by every command that reads one."""
    for end in ("", ".yaml"):
        (tmp_path / f"folder{end}").mkdir()
        (tmp_path / f"fails{end}").symlink_to("/proc/self/mem")
    if command[:2] == ("profile", "-o") and wrong == "fails":
        pytest.skip("that can be written")
    said = tools.run(tools.pagecast, *(word.format(wrong) for word in command), cwd=tmp_path)
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (2, "", 1), said
    assert "internal error" not in said.stderr and (why in said.stderr or "is no file" in said.stderr), said


def test_statistics_come_from_a_pipe_too(tools, run):
    said = tools.run("bash", "-c", f"{tools.pagecast} report <(cat {run})")
    assert said.returncode == 0 and said.stdout.splitlines()[1].endswith("  paged"), said


def test_what_is_no_statistics_is_said_and_nothing_else(tools, run, tmp_path):
    (tmp_path / "other.json").write_text("{}")
    for wrong in (tmp_path / "other.json", tmp_path / "absent.json"):
        said = tools.run(tools.pagecast, "report", run, wrong)
        assert (said.returncode, said.stdout, said.stderr.count("\n")) == (2, "", 1) and str(wrong) in said.stderr
    assert tools.run(tools.pagecast, "report").returncode == 2


def test_top_shows_a_program_that_is_paged(tools, running):
    said = tools.run(tools.pagecast, "top", "--json", "--count", "1", "--interval", "0.2")
    assert said.returncode == 0, said.stderr
    (program,) = [each for each in json.loads(said.stdout)["programs"] if each["pid"] == running.pid]
    assert program["paged"] and program["memory"] == str(32 << 20) and program["program"].startswith("python")
    assert 16 << 20 < program["held_bytes"] < 90 << 20
    assert program["read_bytes_per_s"] is not None and program["written_bytes_per_s"] is not None
    table = tools.run(tools.pagecast, "top", "--count", "1", "--interval", "0.05").stdout.splitlines()
    assert table[0].split()[:3] == ["pid", "paged", "holds"]
    assert any(line.split()[:2] == [str(running.pid), "yes"] and "  32 MiB  " in line for line in table[1:])


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_top_with_success(tools, end):
    with subprocess.Popen([tools.pagecast, "top", "--json", "--interval", "0.05"], stdout=subprocess.PIPE, text=True) as top:
        assert "programs" in json.loads(top.stdout.readline())
        top.send_signal(end)
        rest, _ = top.communicate(timeout=30)
    assert top.returncode == 0 and all("programs" in json.loads(line) for line in rest.splitlines())


def test_on_a_terminal_top_draws_in_place_at_once(tools):
    ours, theirs = pty.openpty()
    with subprocess.Popen([tools.pagecast, "top", "--interval", "60"], stdout=theirs, stderr=theirs) as top:
        assert os.read(ours, 100).startswith(b"\x1b[H\x1b[J")
        top.send_signal(signal.SIGINT)
        assert top.wait(30) == 0
    os.close(ours)
    os.close(theirs)
