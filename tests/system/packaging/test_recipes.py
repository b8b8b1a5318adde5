# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How others package it: the Containerfile is built and tried, with PAGECAST_TEST_CHROOT=1; the recipes of Spack and Apptainer, which
cannot be run here, are read, and what they name is there."""

import ast
import os
import re
import shutil
import subprocess
import sys
import types

import pytest

from paging import PYTHON_SUM, PYTHON_SUMMED
from places import ROOT

PACKAGING = ROOT / "packaging"
SPACK, APPTAINER, CONTAINERFILE = PACKAGING / "spack/package.py", PACKAGING / "apptainer/pagecast.def", PACKAGING / "container/Containerfile"
SECTIONS = {"setup", "files", "environment", "post", "runscript", "startscript", "test", "labels", "help"}  # that Apptainer knows


def spack_directives() -> dict[str, list]:
    """What the recipe declares, as Spack would see it: its directives by name, with their first arguments."""
    declared = {}

    def directive(name):
        return lambda first=None, *_, **__: declared.setdefault(name, []).append(first)
    known = {name: directive(name) for name in ("version", "depends_on", "conflicts", "generator", "license", "variant")}
    known |= {"run_after": lambda _: lambda method: method, "on_package_attributes": lambda **_: lambda method: method,
              "CMakePackage": type("CMakePackage", (), {}), "Executable": object}
    package = types.ModuleType("spack.package")
    package.__dict__.update(known, __all__=list(known))
    before = dict(sys.modules)
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})
    try:
        exec(compile(SPACK.read_text(), str(SPACK), "exec"), {"__name__": "recipe"})
    finally:
        sys.modules.clear()
        sys.modules.update(before)
    return declared


def required() -> set[str]:
    """The packages, and archives of libraries, without which nothing is built."""
    layers = re.search(r"foreach\(layer ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text())[1].split()
    asked = re.compile(r"^find_package\((\w[\w-]*).*REQUIRED|^find_library\(.* NAMES (\w+)\.a REQUIRED", re.MULTILINE)
    return {package or archive for layer in layers for package, archive in asked.findall((ROOT / layer / "CMakeLists.txt").read_text())}


def test_whose_code_is_in_the_programs_is_named_with_its_licence():
    """What is used while building or testing alone is not in them; LLVM's licence asks for no notice in what it compiled."""
    named = {"CLI11": "CLI11", "nlohmann_json": "JSON for Modern C++", "yaml-cpp": "yaml-cpp", "liburing": "liburing", "liblz4": "LZ4"}
    inside = required() - {"LLVM", "GTest", "PkgConfig", "Threads"}
    notice = (ROOT / "NOTICE").read_text()
    assert inside and not [package for package in inside if f"\n{named[package]}, https://" not in notice]


def test_the_recipe_for_spack_declares_what_the_build_needs():
    declared = spack_directives()
    assert declared["version"] and declared["license"] == ["Apache-2.0 WITH LLVM-exception"]
    needed = {name.split("@")[0].split()[0] for name in declared["depends_on"]}
    named = {"LLVM": "llvm", "CLI11": "cli11", "nlohmann_json": "nlohmann-json", "yaml-cpp": "yaml-cpp", "GTest": "googletest",
             "PkgConfig": "pkgconfig", "Threads": "c", "liburing": "liburing", "liblz4": "lz4"}
    assert not [package for package in required() if named[package] not in needed]
    major = re.search(r"set\(PAGECAST_LLVM_MAJOR (\d+)", (ROOT / "compiler/CMakeLists.txt").read_text())[1]
    assert any(name.startswith(f"llvm@{major}") for name in declared["depends_on"])


def test_the_definition_for_apptainer_has_a_head_and_sections_that_are_shell():
    text = "".join(line for line in APPTAINER.read_text().splitlines(keepends=True) if not line.startswith("#"))
    head, *sections = re.split(r"^%", text, flags=re.MULTILINE)
    assert dict(re.findall(r"^(\w+): (\S+)$", head, re.MULTILINE)) == {"Bootstrap": "docker", "From": "debian:bookworm-slim"}
    parts = {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in sections}
    assert {"post", "runscript", "help"} <= set(parts) <= SECTIONS
    for name in set(parts) - {"help"}:
        done = subprocess.run(["sh", "-n"], input=parts[name], text=True, capture_output=True)
        assert done.returncode == 0, (name, done.stderr)


@pytest.mark.parametrize("recipe", [SPACK, APPTAINER], ids=lambda p: p.name)
def test_what_was_never_run_says_so(recipe):
    ast.parse(recipe.read_text()) if recipe.suffix == ".py" else None
    assert any(line.startswith("# UNTESTED") for line in recipe.read_text().splitlines()[:4])


def test_the_containerfile_takes_any_base():
    lines = [line for line in CONTAINERFILE.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0].startswith("ARG BASE=") and lines[1] == "FROM ${BASE}"
    assert {line.split()[0] for line in lines if line[0].isupper()} <= {"ARG", "FROM", "COPY", "RUN", "ENTRYPOINT", "CMD"}
