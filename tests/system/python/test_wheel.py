# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel, installed from its file into a virtual environment that has nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

pytestmark = pytest.mark.xdist_group("wheel")  # or each process makes and installs it

PAGED = """
import pagecast
assert not pagecast.active() and pagecast.budget() == 0
data = bytearray(96 << 20)
for i in range(0, len(data), 4096):
    data[i] = i >> 12 & 255
assert pagecast.active() and 16 << 20 <= pagecast.budget() <= 32 << 20
pagecast.release(data)
asked = pagecast.prefetch(memoryview(data)[:4 << 20])
print(asked > 0, sum(data[i] for i in range(0, len(data), 4096)))
"""


@pytest.fixture(scope="module")
def wheel(tools, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, ROOT / "python" / "make_wheel.py", "--build", tools.build, "--output", output], check=True)
    (made,) = output.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The folder of its commands."""
    place = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    subprocess.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel], check=True)
    return place / "bin"


def test_it_is_tagged_for_systems_of_the_last_years(wheel):
    assert "-py3-none-manylinux_2_3" in wheel.name


def test_the_command_is_that_of_the_build(installed, tools):
    said = tools.run(installed / "pagecast", "--version")
    assert (said.returncode, said.stdout) == (0, tools.run(tools.pagecast, "--version").stdout)
    assert tools.run(installed / "pagecast", "run", "--", "sh", "-c", "exit 7").returncode == 7


def test_a_program_in_python_is_paged_and_gives_hints(tools, installed, disk_dir):
    done = tools.run(installed / "pagecast", "run", "--memory", "32M", "--backing", disk_dir, "--", installed / "python", "-c", PAGED)
    assert (done.returncode, done.stdout) == (0, f"True {sum(i & 255 for i in range(96 << 8))}\n"), done.stderr


def test_outside_pagecast_run_hints_do_nothing(tools, installed):
    said = "import pagecast; d = bytearray(1 << 20); pagecast.release(d); print(pagecast.prefetch(d), pagecast.active(), pagecast.budget())"
    assert tools.run(installed / "python", "-c", said).stdout == "0 False 0\n"


def test_the_compiler_finds_its_plugin(tools, installed, tmp_path):
    (tmp_path / "p.c").write_text("double f(double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }\n")
    done = tools.run(installed / "pagecast-cc", "-O2", "-c", "p.c", "-o", "p.o", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "__pagecast_enter" in tools.run("llvm-nm-19", tmp_path / "p.o").stdout


def test_another_clang_finds_its_own(tools, installed, tmp_path):
    """In a wheel that was made of a tree with the plugin of `make plugin16`."""
    if not shutil.which("clang-16") or not list(installed.parent.rglob("pagecast-llvm16.so")):
        pytest.skip("clang-16 is not installed, or the wheel has no plugin for it: make plugin16")
    (tmp_path / "p.c").write_text("double f(double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }\n")
    done = tools.run(installed / "pagecast-cc", "-###", "-O2", "-c", "p.c", cwd=tmp_path, env={"PAGECAST_CLANG": "clang-16"})
    assert str(installed.parent) in done.stderr and "pagecast-llvm16.so" in done.stderr and "pagecast-llvm19" not in done.stderr
    done = tools.run(installed / "pagecast-cc", "-O2", "-c", "p.c", "-o", "p.o", cwd=tmp_path, env={"PAGECAST_CLANG": "clang-16"})
    assert done.returncode == 0, done.stderr
    assert "__pagecast_enter" in tools.run("llvm-nm-19", tmp_path / "p.o").stdout


def test_what_installs_nothing_is_said(tools, tmp_path):
    done = tools.run(sys.executable, ROOT / "python" / "make_wheel.py", "--build", tmp_path)
    assert done.returncode == 1 and "cmake --install" in done.stderr and "Traceback" not in done.stderr
