# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What make install leaves is complete, can be moved, and is found by CMake and pkg-config."""

import os
import re
import shutil

import pytest

from places import ROOT


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """An installation that was staged with DESTDIR and then moved to where it is used."""
    stage = tmp_path_factory.mktemp("stage")
    done = built.run("cmake", "--install", built.build, "--prefix", "/opt/pagecast", env={"DESTDIR": str(stage)})
    assert done.returncode == 0, done.stderr
    prefix = tmp_path_factory.mktemp("installed") / "prefix"
    shutil.move(stage / "opt" / "pagecast", prefix)
    return prefix


def test_files(installed):
    for name in ("bin/pagecast", "bin/pagecast-cc", "bin/pagecast-c++", "bin/pagecast-fc", "lib/libpagecast.so", "lib/libpagecast.so.0",
                 "lib/libpagecast-hints.so", "lib/pagecast/pagecast", "lib/pagecast/pagecast-llvm19.so", "include/pagecast/pagecast.h", "include/pagecast/pagecast.f90", "include/pagecast/hints.h",
                 "lib/cmake/Pagecast/PagecastConfig.cmake",
                 "lib/pkgconfig/pagecast.pc", "share/doc/pagecast/LICENSE", "share/doc/pagecast/NOTICE"):
        assert (installed / name).exists(), name


def test_a_plugin_for_another_clang_is_installed_if_it_is_of_the_same_sources(built, tmp_path):
    """So it gets into wheels and packages, too, which are made of such a tree."""
    place = tmp_path / "tree" / "lib" / "pagecast"
    place.mkdir(parents=True)
    script = (built.build / "cmake_install.cmake").read_text().replace(str(built.build / "lib" / "pagecast" / "pagecast-llvm"), f"{place}/pagecast-llvm")
    part = re.search(r"    set\(first .*?endforeach\(\)", script, re.DOTALL)[0]
    (tmp_path / "part.cmake").write_text(part)
    for name, when in (("pagecast-llvm19.so", 100), ("pagecast-llvm16.so", 200), ("pagecast-llvm15.so", 50)):
        (place / name).write_text(name)
        os.utime(place / name, (when, when))
    done = built.run("cmake", f"-DCMAKE_INSTALL_PREFIX={tmp_path}/prefix", "-P", tmp_path / "part.cmake")
    assert done.returncode == 0, done.stderr
    assert [p.name for p in (tmp_path / "prefix").rglob("*.so")] == ["pagecast-llvm16.so"]


def test_compiles_from_there(built, installed, hello_source, tmp_path):
    done = built.run(installed / "bin" / "pagecast-cc", "-O2", hello_source, "-o", tmp_path / "a")
    assert (done.returncode, done.stderr) == (0, "")
    assert built.run(tmp_path / "a").stdout == "hello\n"
    assert str(installed / "lib") in built.run("readelf", "-d", tmp_path / "a").stdout


@pytest.mark.parametrize("clang", [True, False])
def test_cmake_finds_it(built, installed, tmp_path, clang):
    """With clang 19 the pass comes in by the flags of the target; any other compiler gets the C API."""
    compiler = "clang-19" if clang else "gcc"
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    done = built.run("cmake", "-G", "Ninja", "-S", ROOT / "tests" / "consumer", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={installed}",
                     f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release")
    assert done.returncode == 0, done.stderr
    done = built.run("cmake", "--build", tmp_path, "-v")
    assert done.returncode == 0, done.stdout
    assert ("-fpass-plugin=" in done.stdout) == clang
    done = built.run(tmp_path / "consumer")
    assert done.returncode == 0 and done.stdout.startswith("sum 4999950000"), done.stderr


def test_pkg_config_finds_it(built, installed, tmp_path):
    done = built.run("pkg-config", "--cflags", "--libs", "pagecast", env={"PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig")})
    assert done.returncode == 0, done.stderr
    source = ROOT / "tests" / "consumer" / "consumer.c"
    done = built.run("gcc", source, "-o", tmp_path / "a", *done.stdout.split())
    assert done.returncode == 0, done.stderr
    assert built.run(tmp_path / "a").returncode == 0


def test_example_of_the_c_api(built, installed, tmp_path):
    done = built.run(installed / "bin" / "pagecast-cc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{installed}/include",
                     ROOT / "apps" / "handhints" / "handhints.c", "-o", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    outputs = {built.run(tmp_path / "a", "--slots", "65536", env=env).stdout for env in ({}, {"PAGECAST_ENABLE": "0"})}
    assert len(outputs) == 1 and "checksum" in outputs.pop()
