# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast fc is drop-in for flang; Fortran's large data are paged and hinted. And OpenMP, in Fortran and C."""

import json
import shutil

import pytest

VERBOSE = {"PAGECAST_CC_VERBOSE": "1"}
BUDGET = 16 << 20
FLANG = "flang-new-19"


@pytest.fixture(scope="module")
def fc(built):
    if not shutil.which(FLANG):
        pytest.skip("flang 19 is not installed")
    return built.pagecast.parent / "pagecast-fc"


HELLO = "program hello\n  print '(a)', 'hello'\nend program\n"
FIXED = "      PROGRAM HELLO\nC     fixed form: a comment, and a line continued in column 6\n      PRINT '(A)',\n     & 'hello'\n      END\n"
MODULE = "module part\ncontains\n  integer function twice(x)\n    integer, intent(in) :: x\n    twice = 2 * x\n  end function\nend module\n"
USER = "program user\n  use part\n  print '(i0)', twice(21)\nend program\n"


def test_compiles_links_and_runs_silently(built, fc, tmp_path):
    preprocessed = "#define WORD 'hello'\n" + HELLO.replace("'hello'", "WORD")
    for level, name, text in (("-O0", "h.f90", HELLO), ("-O2", "h.f", FIXED), ("-O3", "h.F90", preprocessed)):
        (tmp_path / name).write_text(text)
        done = built.run(fc, level, name, "-o", "a", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), name
        assert built.run(tmp_path / "a").stdout == "hello\n"
    assert "libpagecast.so.0" in built.run("readelf", "-d", tmp_path / "a").stdout


def test_form_can_be_chosen(built, fc, tmp_path):
    (tmp_path / "h.inc").write_text(FIXED)
    done = built.run(fc, "-x", "f95", "-ffixed-form", "h.inc", "-o", "a", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert built.run(tmp_path / "a").stdout == "hello\n"


def test_modules_separate_compilation_and_response_file(built, fc, tmp_path):
    (tmp_path / "part.f90").write_text(MODULE)
    (tmp_path / "user.f90").write_text(USER)
    (tmp_path / "mods").mkdir()
    for flags in (["-J", "mods"], ["-module-dir", "mods"]):
        done = built.run(fc, "-O2", "-c", *flags, "part.f90", "-o", "part.o", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert [f.name for f in (tmp_path / "mods").iterdir()] == ["part.mod"]
        (tmp_path / "args").write_text("-O2 user.f90\n part.o -Imods -o 'a'")
        done = built.run(fc, "@args", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert built.run(tmp_path / "a").stdout == "42\n"
        (tmp_path / "mods" / "part.mod").unlink()


@pytest.mark.parametrize("arguments, plugin, runtime", [
    (["h.f90"], True, True),
    (["h.F08"], True, True),
    (["-c", "h.f90"], True, False),
    (["-S", "h.f90"], True, False),
    (["-S", "-emit-llvm", "h.f90"], True, False),
    (["-E", "h.f90"], False, False),
    (["-fsyntax-only", "h.f90"], False, False),
    (["h.o"], False, True),
    (["h.o", "h.f"], True, True),
    (["h.o", "-module-dir", "h.f90"], False, True),
    (["h.o", "-J", "h.f90"], False, True),
    (["h.o", "-Xflang", "h.f90"], False, True),
    (["-c", "h.c"], True, False),
    (["-c", "h.s"], False, False),
    (["-shared", "-fPIC", "h.f90"], True, True),
    (["-x", "f95", "-c", "-"], True, False),
    (["--target=riscv64-linux-gnu", "-c", "h.f90"], False, False),
    (["--version"], False, False),
    (["-print-resource-dir"], False, False),
    (["-v"], False, False),
])
def test_what_is_added(built, fc, tmp_path, arguments, plugin, runtime):
    for name in ("h.f90", "h.F08", "h.f", "h.c", "h.s", "h.o"):
        (tmp_path / name).write_text("")
    done = built.run(fc, "-###", *arguments, cwd=tmp_path, env=VERBOSE, input="")
    line = done.stderr.splitlines()[0]
    assert ("-fpass-plugin=" in line) == plugin, line
    assert ("-lpagecast" in line) == runtime, line
    ours_unused = [l for l in done.stderr.splitlines() if "argument unused" in l and "pagecast" in l]
    assert ours_unused == [] and "pagecast:" not in done.stderr


def test_the_subcommand_is_the_same(built, fc):
    ours, same = (built.run(*command, "-###", "-c", "h.f90", env=VERBOSE).stderr.splitlines()[0]
                  for command in ([fc], [built.pagecast, "fc"]))
    assert ours == same and ours.startswith(shutil.which(FLANG))


def test_clang_gets_no_plugin_for_fortran(built, tmp_path):
    """Clang hands Fortran on to another compiler, which would not know the option."""
    (tmp_path / "h.f90").write_text(HELLO)
    line = built.run(built.cc, "-###", "-c", "h.f90", cwd=tmp_path, env=VERBOSE).stderr.splitlines()[0]
    assert "-fpass-plugin=" not in line


def test_answers_and_errors_of_flang_pass_through(built, fc, tmp_path):
    for question in ("--version", "-dumpversion", "-print-resource-dir", "--help"):
        ours, flang = built.run(fc, question), built.run(FLANG, question)
        assert (ours.returncode, ours.stdout) == (flang.returncode, flang.stdout)
    (tmp_path / "bad.f90").write_text("program p\n  x = = 1\nend\n")
    done = built.run(fc, "-c", "bad.f90", cwd=tmp_path)
    assert done.returncode == 1 and "error" in done.stderr and "pagecast:" not in done.stderr


@pytest.mark.parametrize("script, words", [
    ("echo 17.0.6", "version 17.0.6"),
    ("echo 19.1.7", "no Fortran compiler"),  # a clang 19
    ("exit 1", "no flang"),
])
def test_wrong_flang_is_refused(tools, tmp_path, script, words):
    other = tmp_path / "flang"
    other.write_text(f"#!/bin/sh\n{script}\n")
    other.chmod(0o755)
    done = tools.run(tools.pagecast, "fc", "-c", "h.f90", env={"PAGECAST_FLANG": str(other)})
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert words in done.stderr and "set it to a flang 19" in done.stderr


def test_path_of_the_runtime_may_have_a_comma(built, fc, tmp_path):
    """Flang has no -Xlinker, and -Wl splits at commas."""
    tree = tmp_path / "here, there"
    for name in ("bin", "lib"):
        shutil.copytree(built.build / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("*.a"))
    (tmp_path / "h.f90").write_text(HELLO)
    done = built.run(tree / "bin" / "pagecast-fc", "h.f90", "-o", "a", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(tree) in built.run("readelf", "-d", tmp_path / "a").stdout


# What follows runs on three times the budget of data: 2048 x 3072 x 8 bytes.

WORK = """module work
contains
  subroutine scale(x, f)
    real(8), intent(inout) :: x(:, :)
    real(8), intent(in) :: f
    integer :: i, j
    do j = 1, size(x, 2)
      do i = 1, size(x, 1)
        x(i, j) = x(i, j) * f + 1d0
      end do
    end do
  end subroutine
end module
"""
BODY = """  do j = 1, m
    do i = 1, n
      a(i, j) = mod(i * 7 + j, 13)
    end do
  end do
{scale}
  s = 0
  do j = 1, m
    do i = 1, n
      s = s + a(i, j) * mod(i + j, 3)
    end do
  end do
  print '(f24.6)', s
end program
"""
HEAD = "  implicit none\n  integer, parameter :: n = 2048, m = 3072\n  integer :: i, j\n  real(8) :: s\n"
FORTRAN = {
    "common": "program p\n" + HEAD + "  real(8) :: a(n, m)\n  common /block/ a\n" + BODY.format(scale=""),
    "allocatable": "program p\n" + HEAD + "  real(8), allocatable :: a(:, :)\n  allocate (a(n, m))\n" + BODY.format(scale=""),
    "assumed_shape": WORK + "program p\n  use work\n" + HEAD + "  real(8), allocatable :: a(:, :)\n  allocate (a(n, m))\n"
                     + BODY.format(scale="  call scale(a, 0.5d0)"),
}


def run_paged(built, program, disk_dir, tmp_path, env=None) -> tuple[str, dict]:
    stats = tmp_path / "stats.json"
    done = built.run(built.pagecast, "run", "--memory", str(BUDGET), "--backing", disk_dir, "--stats", stats, "--", program, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    figures = json.loads(stats.read_text())
    if not figures["active"]:
        pytest.skip(figures["why_not"])
    return done.stdout, figures


@pytest.mark.parametrize("kind", FORTRAN)
def test_large_data_of_fortran_are_paged_and_hinted(built, fc, disk_dir, tmp_path, kind):
    (tmp_path / "p.f90").write_text(FORTRAN[kind])
    for compiler, target in ((FLANG, "plain"), (fc, "hinted")):
        # Not inlined, so that the shape of the dummy argument is known at run time only.
        done = built.run(compiler, "-O2", "-g", "-mllvm", "-inline-threshold=-10000", "p.f90", "-o", target, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    output, figures = run_paged(built, tmp_path / "hinted", disk_dir, tmp_path)
    assert output == built.run(tmp_path / "plain").stdout
    pages = 2048 * 3072 * 8 // 4096
    assert figures["budget"]["region_bytes"] >= (pages - 2) * 4096
    hit = figures["faults"]["prefetched_hit"] + figures["faults"]["late"]
    assert hit > pages // 2 and hit > 2 * figures["faults"]["not_prefetched"]
    assert figures["faults"]["zero_fill_hit"] > figures["faults"]["zero_fill_fault"]
    if kind == "assumed_shape":
        line = WORK.splitlines().index("        x(i, j) = x(i, j) * f + 1d0") + 1
        for _ in range(3):  # how much of it is a fault's goes by who gets a processor
            prefetched = next(s["prefetched"] for s in figures["sites"] if s["line"] == line)
            if prefetched > pages // 16:  # a quarter to all: the rest is still there, or a fault's
                return
            figures = run_paged(built, tmp_path / "hinted", disk_dir, tmp_path)[1]
        assert prefetched > pages // 16


OMP_C = """#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const long n = 6L << 20;
  long *a = malloc(n * sizeof *a), s = 0, t = 0;
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i++)
    a[i] = i % 1001;
#pragma omp parallel for schedule(static) reduction(+ : s)
  for (long i = 0; i < n; i++)
    s += a[i];
#pragma omp parallel for schedule(dynamic, 65536) reduction(+ : t)
  for (long i = 0; i < n; i++)
    t += 3 * a[i];
  printf("%ld %ld\\n", s, t);
  return 0;
}
"""
OMP_FORTRAN = """program p
  implicit none
  integer(8), parameter :: n = 6 * 1024 * 1024
  integer(8), allocatable :: a(:)
  integer(8) :: s, t, i
  allocate (a(n))
  s = 0
  t = 0
  !$omp parallel do schedule(static)
  do i = 1, n
    a(i) = mod(i - 1, 1001_8)
  end do
  !$omp parallel do schedule(static) reduction(+:s)
  do i = 1, n
    s = s + a(i)
  end do
  !$omp parallel do schedule(dynamic, 65536) reduction(+:t)
  do i = 1, n
    t = t + 3 * a(i)
  end do
  print '(i0, 1x, i0)', s, t
end program
"""


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_openmp_loops_are_hinted_in_each_thread(built, disk_dir, tmp_path, request, language):
    if language == "c":
        source, text, plain, ours = "p.c", OMP_C, "clang-19", built.cc
    else:
        source, text, plain, ours = "p.f90", OMP_FORTRAN, FLANG, request.getfixturevalue("fc")
    (tmp_path / source).write_text(text)
    done = built.run(plain, "-O2", "-fopenmp", source, "-o", "plain", cwd=tmp_path)
    if "-lomp" in done.stderr:
        pytest.skip("libomp-19-dev is not installed")
    assert done.returncode == 0, done.stderr
    done = built.run(ours, "-O2", "-g", "-fopenmp", source, "-o", "hinted", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    expected = built.run(tmp_path / "plain").stdout
    assert len(expected.split()) == 2
    output, figures = run_paged(built, tmp_path / "hinted", disk_dir, tmp_path, env={"OMP_NUM_THREADS": "3"})
    assert output == expected
    pages = 6 * 2**20 * 8 // 4096
    lines = text.splitlines()
    for schedule, statement, entries in (("static", "s ", 3), ("dynamic", "t ", 48)):
        line = next(i for i, l in enumerate(lines, 1) if l.strip().startswith(statement) and "a" in l and "=" in l and i > 9)
        sites = [s for s in figures["sites"] if s["line"] == line]
        assert sites, f"no site for the {schedule} loop in line {line}"
        assert sum(s["entries"] for s in sites) >= entries  # of the 96 chunks, those that are resident are not counted
        assert sum(s["hit"] + s["late"] for s in sites) > pages // 2
