# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""apps/shared: programs of several ranks on one data set, whose results do not depend on how many there are, or on how they read."""

import json
import re
import shutil

import pytest

from mpi import APPS, LEAST, PROGRAMS, checksum, compiled, found, launched


@pytest.fixture
def run(tools, tmp_path):
    def run(count: int, program, *options):
        return tools.run(*launched(count, program, "--data", tmp_path / "data", *options))
    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_ranks_or_the_way_of_reading(built, run, name):
    plain, hinted = compiled(built, "clang-19", name), compiled(built, built.cc, name)
    size = ("--size", LEAST[name])
    sums = {checksum(run(count, plain, *size)) for count in (1, 2, 4)}
    sums |= {checksum(run(2, plain, *size, "--read")), checksum(run(2, hinted, *size))}
    assert len(sums) == 1, sums


def test_ranks_wait_without_a_processor():
    """MPI's own waits keep a processor busy, of which there are fewer than ranks: all of them go through wait_for()."""
    sources = {p.name: p.read_text() for p in APPS.iterdir() if p.suffix in (".c", ".h", ".f90")}
    blocking = re.compile(r"\bmpi_(all\w+|barrier|bcast|gather\w*|reduce\w*|scan|scatter\w*|send\w*|recv|wait\w*)\b", re.IGNORECASE)
    assert len(sources) >= 6 and not {name: blocking.findall(text) for name, text in sources.items() if blocking.search(text)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_data_that_are_made_serve_a_run_of_another_number_of_ranks(built, run, name):
    plain, size = compiled(built, "clang-19", name), ("--size", LEAST[name])
    made = run(2, plain, *size, "--make")
    assert made.returncode == 0 and "checksum" not in made.stdout, made.stderr
    assert checksum(run(3, plain, *size, "--made")) == checksum(run(1, plain, *size))


@pytest.mark.parametrize("compiler", ["flang-new-19", "pagecast-fc"])
def test_in_fortran_the_results_are_the_same(built, tools, run, tmp_path, compiler):
    if compiler != "pagecast-fc" and not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    flags = [f for f in tools.run(found("mpicc"), "-show").stdout.split() if f.startswith(("-I", "-L"))]
    done = tools.run(tools.build / "bin" / compiler if compiler == "pagecast-fc" else compiler, "-O3", APPS / "hf.f90", *flags, "-module-dir", tmp_path,
                     "-lmpichfort", "-lmpich", "-o", tmp_path / "hf")
    if "lmpichfort" in done.stderr:
        pytest.skip("there is no MPICH for Fortran; apt install libmpich-dev")
    assert done.returncode == 0, done.stderr
    size = ("--size", LEAST["hf"])
    sums = {checksum(run(2, tmp_path / "hf", *size)), checksum(run(1, tmp_path / "hf", *size, "--read"))}
    assert sums == {checksum(run(1, compiled(built, "clang-19", "hf"), *size))}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_cannot_be_is_said_once(built, run, name):
    plain, size = compiled(built, "clang-19", name), ("--size", LEAST[name])
    for options, sentence in ((("--size", "much"), "not a number such as 12 or 256M: much"), ((), "no size: give --size, such as 64M"),
                              (("--size", "4K"), "--size is too small: "), (("--size", "99999999G"), "--size is too large: "),
                              ((*size, "--fast"), "unknown option (--help lists them): --fast"),
                              ((*size, "--make", "--made"), "--make and --made: one of them"), ((*size, "--made"), "No such file or directory")):
        done = run(2, plain, *options)
        assert done.returncode != 0 and "checksum" not in done.stdout
        lines = [line for line in done.stderr.splitlines() if line.startswith(f"{name}: ")]
        assert lines and all(sentence in line for line in lines) and (len(lines) == 1 or "--made" in options), done.stderr


def test_a_data_set_of_another_size_is_said(built, run):
    plain = compiled(built, "clang-19", "vis")
    assert run(1, plain, "--size", "128K", "--make").returncode == 0
    done = run(2, plain, "--size", "1M", "--made")
    assert done.returncode != 0 and "it has 131072 bytes, and 1048576 belong to that size; make it again" in done.stderr, done.stderr


def test_data_that_are_others_are_found_out(built, run):
    plain = compiled(built, "clang-19", "cholesky")
    checksum(run(2, plain, "--size", "512K"))
    again = run(2, plain, "--size", "512K", "--made")
    assert again.returncode == 1 and "verification: FAILED" in again.stdout, "a matrix that was factored already"


def test_who_shares_what_is_seen_in_programs_of_mpi(built, tools, run, tmp_path):
    """MPI's own hooks would have the program's mappings go past ours."""
    hinted = compiled(built, built.cc, "vis")
    assert run(2, hinted, "--size", "1M", "--make").returncode == 0
    done = tools.run(tools.pagecast, "profile", "-o", tmp_path / "p.json", "--", *launched(4, hinted, "--data", tmp_path / "data", "--size", "1M", "--made"))
    assert done.returncode == 0, done.stderr
    phases = json.loads(tools.run(tools.pagecast, "profile", "show", tmp_path / "p.json", "--json").stdout)["phases"]
    clusters = {c for p in phases for c in [tuple(tuple(c["members"]) for c in p["clusters"] if c["helper"])]}
    assert (tuple("0123"),) in clusters, "slices, which all read"
    assert () in clusters, "the surface, of which each has its own part"
