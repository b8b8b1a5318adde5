# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long measurements are continued after an interruption: what is missing, what is refused, a real interruption. Nothing is
timed."""

import json
import signal
import subprocess
import sys
import time

import pytest

from places import ROOT

MIB = 1 << 20
NINE = (ROOT / "bench", "nine")


# What is missing.


def words(parts):
    return [p.words for p in parts]


def test_only_what_is_missing_is_made():
    from harness.turns import missing, run_part
    ok, given_up = {"status": "ok"}, {"status": "timeout"}
    samples = {"a": [ok, ok], "b": [ok], "c": [given_up], "d": [ok, ok, ok]}
    parts = [run_part(name, of, lambda: ok) for name, of in samples.items()]
    assert words(missing(2, lambda turn: parts)) == ["b, run 2 of 2"], "what was given up is not repeated"
    assert words(missing(3, lambda turn: parts, lambda: None)) == [
        "measuring the disk, run 2 of 3", "b, run 2 of 3", "measuring the disk, run 3 of 3", "a, run 3 of 3", "b, run 3 of 3"]


def test_a_part_that_cannot_be_made_or_was_given_up_adds_nothing():
    from harness.turns import run_part
    samples = []
    run_part("a", samples, lambda: {"status": "timeout"}, lambda: False).make()
    assert samples == []
    part = run_part("a", samples, lambda: {"status": "timeout"})
    part.make()
    part.make()
    assert len(samples) == 1


def test_everything_is_saved_after_every_part():
    from harness.report import Screen
    from harness.turns import make, run_part
    samples, saved = [], []
    make(2 * [run_part("a", samples, lambda: {"status": "ok"})], Screen(sys.stderr), lambda: saved.append(len(samples)))
    assert saved == [1, 2]


# What is refused.


@pytest.fixture
def earlier(tools, tmp_path):
    """The file of a run that was interrupted before it had measured anything."""
    from experiments import nine
    from harness.report import Screen
    file = tmp_path / "nine.json"
    options = nine.parse_arguments(["--json", str(file), "--build", str(tools.build), "--work", str(tmp_path / "work"), "--programs", "embar:1.5",
                                    "--only", "static", "--limit", "48M", "--runs", "2"])
    nine.Nine(options, Screen(sys.stderr)).save()
    return file


@pytest.mark.parametrize("options, said", [
    (["--limit", "64M"], "--limit 64M: the run that is continued was made with 48M; only --runs and --timeout may be others"),
    (["--programs", "embar:2"], "--programs embar:2: the run that is continued was made with embar:1.5"),
    (["--only", "incore"], "--only incore: the run that is continued was made with static"),
    (["--work", "/nowhere"], "--work /nowhere: the run that is continued was made with"),
    (["--runs", "1"], "--runs 1: the run that is continued was to make 2"),
    (["--build", "/nowhere"], "it was measured with another build of pagecast"),
])
def test_what_differs_is_refused(tools, earlier, options, said):
    kept = earlier.read_text()
    done = tools.run(sys.executable, *NINE, "--build", tools.build, "--continue", earlier, *options)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("nine: ") and said in done.stderr
    assert earlier.read_text() == kept


@pytest.mark.parametrize("change, said", [
    ({"commit": "abc1234"}, "its commit is abc1234, here it is"),
    ({"kernel": "2.6.32"}, "its kernel is 2.6.32, here it is"),
    ({"processors": 1000}, "another machine"),
    ({"memory_bytes": 1 << 50}, "another machine"),
    ({"kind": "field"}, "is not a result of make nine"),
])
def test_results_of_elsewhere_are_refused(tools, earlier, change, said):
    data = json.loads(earlier.read_text())
    for name, value in change.items():
        (data if name in data else data["machine"])[name] = value
    earlier.write_text(json.dumps(data))
    done = tools.run(sys.executable, *NINE, "--build", tools.build, "--continue", earlier)
    assert done.returncode == 2 and said in done.stderr


def test_the_options_are_those_of_the_earlier_run(tools, earlier, tmp_path):
    from experiments import nine
    options = nine.parse_arguments(["--build", str(tools.build), "--continue", str(earlier), "--runs", "5"])
    assert ([p.name for p in options.chosen], options.parts, options.limit_bytes, options.runs) == (["embar"], ["static"], 48 * MIB, 5)
    assert options.json == earlier and options.work == tmp_path / "work"
    elsewhere = nine.parse_arguments(["--build", str(tools.build), "--continue", str(earlier), "--json", str(tmp_path / "other.json")])
    assert elsewhere.json == tmp_path / "other.json"


# An interruption.


def samples_of(file):
    try:
        return [e["samples"]["pagecast"] for e in json.loads(file.read_text())["programs"]]
    except FileNotFoundError:
        return []


def test_an_interrupted_run_is_continued(built, disk_dir, memory_group):
    memory_group(48 * MIB)
    out = disk_dir / "out.json"
    command = [sys.executable, *NINE, "--build", built.build]
    with subprocess.Popen([*command, "--work", disk_dir / "work", "--json", out, "--limit", "48M", "--only", "pagecast", "--programs",
                           "embar:1.2,buk:1.2", "--runs", "20"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(6000):
            if sum(map(len, samples_of(out))) or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    first = samples_of(out)
    assert 1 <= len(first[0]) < 20 and 0 <= len(first[0]) - len(first[1]) <= 1, "in turns"

    wanted, data = len(first[1]) + 1, json.loads(out.read_text())
    out.write_text(json.dumps({**data, "options": {**data["options"], "runs": wanted}}))  # so many are enough
    done = built.run(*command, "--continue", out, timeout=300)
    assert done.returncode == 0, done.stderr
    second, data = samples_of(out), json.loads(out.read_text())
    assert data["complete"] and data["continued"] == 1 and [len(s) for s in second] == [wanted, wanted]
    assert [s[:len(f)] for s, f in zip(second, first)] == first, "what was measured stays"
    assert done.stderr.count("pagecast under the limit, run") == 2 * wanted - sum(map(len, first)), "and is not made again"
    assert "Measured in 2 sittings" in done.stdout and len({s["output_sha256"] for s in second[0]}) == 1
