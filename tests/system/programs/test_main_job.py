# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on more data than memory give the output of the plain build, to the byte, within the budget."""

import itertools
import json

import pytest
from harness import runs

from places import ROOT

BUDGET = 22 << 20
LIMIT = 48 << 20  # the rest is for code, stacks, page tables and what is cached of files
ARGUMENTS = {
    "buk": ["--memory-size", "56M", "--keys", "/usr/bin/clang-19"],
    "matvec": ["--memory-size", "56M", "--cols", "1000000", "--iterations", "3"],
}
LEVELS = ("-O0", "-O1", "-O2", "-O3")


def compile_app(tools, compiler, app, level):
    return tools.compile(compiler, ROOT / "apps" / app / f"{app}.c", "-std=c11", level)


@pytest.fixture(scope="module")
def reference(built):
    """The output of the plain build, in core; computed once for each program."""
    outputs = {}

    def of(app):
        if app not in outputs:
            program = compile_app(built, "clang-19", app, "-O2")
            done = runs.run([program, *ARGUMENTS[app]])
            assert done.ok, done.errors
            outputs[app] = done.output
        return outputs[app]

    return of


@pytest.mark.parametrize("app", ARGUMENTS)
@pytest.mark.parametrize("level", LEVELS)
def test_plain_build_agrees_at_every_level(tools, reference, app, level):
    program = compile_app(tools, "clang-19", app, level)
    assert runs.run([program, *ARGUMENTS[app]]).output == reference(app)


@pytest.mark.parametrize("level, app", itertools.product(LEVELS, ARGUMENTS))
def test_output_under_a_limit(built, reference, memory_group, disk_dir, tmp_path, app, level):
    program = compile_app(built, built.cc, app, level)
    stats = tmp_path / "stats.json"
    done = runs.run([built.pagecast, "run", "--memory", str(BUDGET), "--backing", disk_dir, "--stats", stats, "--",
                     program, *ARGUMENTS[app]], memory_group(LIMIT), timeout=120)
    assert done.ok, f"{done.status}: {done.errors}"
    assert done.output == reference(app)
    figures = json.loads(stats.read_text())
    assert figures["version"] == 1
    assert figures["budget"]["bytes"] <= BUDGET
    assert 0 < figures["budget"]["peak_bytes"] <= 1.02 * BUDGET
    # More data than memory was written and is used again: some of it must have been to the disk and back.
    assert figures["io"]["written_bytes"] > 0 and figures["io"]["read_bytes"] > 0
    assert list(disk_dir.iterdir()) == []


@pytest.mark.parametrize("app", ARGUMENTS)
def test_budget_follows_the_control_group(built, reference, memory_group, disk_dir, tmp_path, app):
    program = compile_app(built, built.cc, app, "-O3")
    stats = tmp_path / "stats.json"
    done = runs.run([built.pagecast, "run", "--backing", disk_dir, "--stats", stats, "--", program, *ARGUMENTS[app]],
                    memory_group(LIMIT), timeout=120)
    assert done.ok, f"{done.status}: {done.errors}"
    assert done.output == reference(app)
    assert json.loads(stats.read_text())["budget"]["bytes"] < LIMIT


@pytest.mark.parametrize("app", ARGUMENTS)
@pytest.mark.parametrize("environment", [{}, {"PAGECAST_ENABLE": "0"}, {"PAGECAST_MEMORY": "4G"}],
                         ids=["default", "off", "all fits"])
def test_output_when_nothing_is_paged(built, reference, app, environment):
    program = compile_app(built, built.cc, app, "-O3")
    done = built.run(program, *ARGUMENTS[app], env=environment)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.encode() == reference(app)


@pytest.mark.parametrize("app", ARGUMENTS)
def test_output_by_demand_paging_alone(built, reference, memory_group, disk_dir, tmp_path, app):
    """Without compiler-made hints the pager alone must be right too: the plain object, linked to the runtime."""
    program = tmp_path / app
    done = built.run("clang-19", "-std=c11", "-O2", "-c", ROOT / "apps" / app / f"{app}.c", "-o", tmp_path / "o.o")
    assert done.returncode == 0, done.stderr
    assert built.run(built.cc, tmp_path / "o.o", "-o", program).returncode == 0
    done = runs.run([built.pagecast, "run", "--memory", str(BUDGET), "--backing", disk_dir, "--", program, *ARGUMENTS[app]],
                    memory_group(LIMIT), timeout=120)
    assert done.ok, f"{done.status}: {done.errors}"
    assert done.output == reference(app)
