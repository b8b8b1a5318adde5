# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs made of loop nests (tests/fuzz) print the same with pagecast as without. `make fuzz` runs more."""

import json
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"
sys.path.insert(0, str(FUZZ))

import trial
from fuzz import Summary
from generate import program, unit_count

PROGRAMS = 100
FIRST = 1


def test_random_programs_print_the_same(built, tmp_path):
    report = tmp_path / "fuzz.json"
    done = built.run(
        sys.executable,
        FUZZ / "fuzz.py",
        "--build",
        built.build,
        "--seed",
        FIRST,
        "--number",
        PROGRAMS,
        "--keep",
        built.build.parent / "results" / "fuzz",
        "--json",
        report,
        timeout=1800,
    )
    if report.exists() and not json.loads(report.read_text())["summary"]["paged"]:
        with_reason = built.run(built.pagecast, "doctor")
        pytest.skip("nothing can be paged here: " + (with_reason.stdout or with_reason.stderr).splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(report.read_text())["summary"]
    assert figures["programs"] == PROGRAMS
    # Of programs that were never short of memory nothing is learnt.
    assert 2 * figures["paged"] > PROGRAMS and figures["hinted pages"] > 10 * PROGRAMS and figures["slice hints"] > 0


def test_a_seed_is_always_the_same_program():
    assert program(7) == program(7) != program(8)
    # A program of fewer units has the same ones: what reduce.py relies on.
    alone = program(7, [1])
    assert unit_count(7) > 1 and "u64 u1(" in alone and "u0(" not in alone
    body = alone[alone.index("u64 u1(") : alone.index("static NOINLINE void show")]
    assert body.strip() in program(7)


@pytest.mark.parametrize("seed", range(500, 506))
def test_programs_are_free_of_undefined_behaviour(tmp_path, seed):
    subject = trial.Trial(tmp_path, tmp_path, trial.Settings("-O1"))
    assert subject.sanitize(program(seed)) == ""


def test_every_option_of_the_runtime_is_drawn_or_left_alone(built):
    known = trial.runtime_options(built.build)
    assert known == set(trial.DRAWN) | trial.LEFT_ALONE


def test_differences_are_noticed(tmp_path):
    """In the place of pagecast-cc, a compiler whose programs differ, crash or end otherwise, and one that fails itself."""
    build = tmp_path / "build"
    (build / "bin").mkdir(parents=True)
    compiler = build / "bin" / "pagecast-cc"

    def outcome(script: str) -> str:
        compiler.write_text(f"#!/bin/sh\n{script}\n")
        compiler.chmod(0o755)
        return trial.Trial(build, tmp_path / "work", trial.Settings("-O1")).compare(program(1))[0]

    assert outcome('exec clang-19 "$@"') == ""
    assert outcome('sed "s/14695981039346656037u/1u/" "$4" >"$4.c"; exec clang-19 -w -O1 "$4.c" -o "$6"').startswith(
        "output: differs first"
    )
    assert outcome('sed "s/return (int)(r & 63)/abort()/" "$4" >"$4.c"; exec clang-19 -w -O1 "$4.c" -o "$6"').startswith(
        "crash: it died of SIGABRT"
    )
    assert outcome('sed "s/return (int)(r & 63)/return 64/" "$4" >"$4.c"; exec clang-19 -w -O1 "$4.c" -o "$6"').startswith(
        "status: 64"
    )
    assert outcome("kill -SEGV $$").startswith("compile: pagecast-cc died of SIGSEGV")
    assert outcome("echo 'error: no' >&2; exit 1") == "compile: pagecast-cc ended with status 1: error: no"


def test_a_run_that_tests_nothing_is_noticed():
    summary = Summary()
    for seed in range(4):
        summary.add(trial.Outcome(seed, "-O2", {}, figures={"nests": 1 if seed == 0 else 0}))
    assert "only 1 of 4" in summary.idle()
    summary.add(trial.Outcome(4, "-O2", {}, figures={"nests": 3}))
    summary.add(trial.Outcome(5, "-O2", {}, figures={"nests": 3}))
    assert summary.idle() == ""
