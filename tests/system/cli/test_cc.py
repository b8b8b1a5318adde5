# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast cc and c++ are drop-in for clang: every mode, both build systems, and nothing said unasked."""

import os
import shutil
import subprocess

import pytest

from paging import OUTPUT_FLAGS, SOURCES, run_paged

VERBOSE = {"PAGECAST_CC_VERBOSE": "1"}


def command_line(tools, *arguments, compiler=None, **kw):
    """The line that clang gets, which -### keeps from being carried out."""
    done = tools.run(compiler or tools.cc, *arguments, env=VERBOSE, **kw)
    return done.stderr.splitlines()[0]


def needed(program) -> str:
    return subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout


def test_compiles_links_and_runs_silently(built, hello_source, tmp_path):
    for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
        done = built.run(built.cc, "-Wall", "-Werror", level, hello_source, "-o", tmp_path / "a")
        assert (done.returncode, done.stderr) == (0, "")
        assert built.run(tmp_path / "a").stdout == "hello\n"
    assert "libpagecast.so.0" in needed(tmp_path / "a")


def test_separate_compilation_and_linking(built, hello_source, tmp_path):
    obj = tmp_path / "h.o"
    assert built.run(built.cc, "-Werror", "-O2", "-c", hello_source, "-o", obj).stderr == ""
    assert built.run(built.cc, "-Werror", obj, "-o", tmp_path / "a").stderr == ""
    assert built.run(tmp_path / "a").stdout == "hello\n"


def test_subcommands_are_the_same_compilers(built, hello_source):
    assert command_line(built, "cc", "-c", hello_source, "-###", compiler=built.pagecast) == command_line(built, "-c", hello_source, "-###")
    assert "clang++" in command_line(built, "c++", "-c", hello_source, "-###", compiler=built.pagecast)


@pytest.mark.parametrize("arguments, plugin, runtime", [
    (["h.c"], True, True),
    (["-c", "h.c"], True, False),
    (["-S", "h.c"], True, False),
    (["-S", "-emit-llvm", "h.c"], True, False),
    (["-E", "h.c"], False, False),
    (["-M", "h.c"], False, False),
    (["-MM", "h.c"], False, False),
    (["-MD", "-MF", "h.d", "-c", "h.c"], True, False),
    (["-fsyntax-only", "h.c"], False, False),
    (["h.o"], False, True),
    (["h.o", "-lm"], False, True),
    (["-c", "h.s"], False, False),
    (["-c", "h.S"], False, False),
    (["-r", "h.o", "-o", "r.o"], False, False),
    (["-nostdlib", "h.c"], True, False),
    (["-nodefaultlibs", "h.c"], True, False),
    (["-shared", "-fPIC", "h.c"], True, True),
    (["-x", "c", "-c", "-"], True, False),
    (["-xc", "-"], True, True),
    (["-x", "assembler", "-c", "h.c"], False, False),
    (["-x", "c-header", "h.c"], False, True),
    (["-o", "h.c"], False, False),
    (["-include", "h.c", "-c", "h.o"], False, False),
    (["--", "h.c"], True, True),
    (["-m32", "-c", "h.c"], False, False),
    (["--target=wasm32", "-c", "h.c"], False, False),
    (["-target", "riscv64-linux-gnu", "-c", "h.c"], False, False),
    (["--version"], False, False),
    (["-v"], False, False),
    (["-print-search-dirs"], False, False),
    (["-print-file-name=libc.so", "h.c"], False, False),
    (["-dumpmachine"], False, False),
])
def test_what_is_added(built, tmp_path, arguments, plugin, runtime):
    for name in ("h.c", "h.s", "h.S", "h.o"):
        (tmp_path / name).write_text("")
    line = command_line(built, "-###", *arguments, cwd=tmp_path, input="")
    assert ("-fpass-plugin=" in line) == plugin, line
    assert ("-lpagecast" in line) == runtime, line


def test_answers_of_clang_pass_through(built):
    for question in ("--version", "-dumpmachine", "-print-resource-dir", "--help"):
        ours, clang = built.run(built.cc, question), built.run("clang-19", question)
        assert (ours.returncode, ours.stdout) == (clang.returncode, clang.stdout)
    assert built.run(built.cc, "-v").stderr.startswith("Debian clang") or "clang version" in built.run(built.cc, "-v").stderr


def test_no_input_is_clangs_own_error(built):
    ours, clang = built.run(built.cc), built.run("clang-19")
    assert ours.returncode == clang.returncode and "no input files" in ours.stderr


def test_errors_of_clang_keep_their_status(built, tmp_path):
    bad = tmp_path / "bad.c"
    bad.write_text("int main(void) { return x; }\n")
    done = built.run(built.cc, "-c", bad, "-o", tmp_path / "bad.o")
    assert done.returncode == 1 and "undeclared identifier" in done.stderr


def test_source_on_standard_input(built, tmp_path):
    done = built.run(built.cc, "-x", "c", "-", "-o", tmp_path / "a", input="int main(void) { return 3; }\n")
    assert done.returncode == 0, done.stderr
    assert built.run(tmp_path / "a").returncode == 3


def test_response_file(built, hello_source, tmp_path):
    directory = tmp_path / "with space"
    directory.mkdir()
    response = tmp_path / "args"
    response.write_text(f'-O2 -Werror {hello_source}\n-o "{directory}/a"\n')
    assert built.run(built.cc, f"@{response}").stderr == ""
    assert "libpagecast.so.0" in needed(directory / "a")


def test_static_linking_warns_once_and_works(built, hello_source, tmp_path):
    done = built.run(built.cc, "-static", hello_source, "-o", tmp_path / "a")
    if "cannot find" in done.stderr:
        pytest.skip("no static C library is installed")
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1 and "linked statically" in done.stderr
    assert built.run(tmp_path / "a").stdout == "hello\n"


def test_shared_library_needs_the_runtime_only_if_it_uses_it(built, tmp_path):
    source = tmp_path / "l.c"
    source.write_text("int twice(int x) { return 2 * x; }\n")
    assert built.run(built.cc, "-shared", "-fPIC", source, "-o", tmp_path / "l.so").returncode == 0
    assert "libpagecast" not in needed(tmp_path / "l.so")


def test_cxx(built, tmp_path):
    source = tmp_path / "v.cpp"
    source.write_text("#include <iostream>\n#include <vector>\n#include <stdexcept>\n"
                      "int main() { try { std::vector<int> v(3); v.at(7) = 1; } catch (const std::exception &) "
                      "{ std::cout << \"caught\\n\"; } }\n")
    assert built.run(built.cxx, "-std=c++20", "-O2", "-Wall", "-Werror", source, "-o", tmp_path / "v").stderr == ""
    assert built.run(tmp_path / "v").stdout == "caught\n"


def test_pass_through_switch(built, hello_source):
    done = built.run(built.cc, "-###", hello_source, env={**VERBOSE, "PAGECAST_CC_PASSTHROUGH": "1"})
    assert done.stderr.splitlines()[0] == f"{shutil.which('clang-19')} '-###' {hello_source}"


def test_clang_of_another_version_is_refused(tools, hello_source, tmp_path):
    """A plugin in the wrong LLVM crashes, so it must not get that far."""
    other = tmp_path / "clang"
    other.write_text("#!/bin/sh\necho 18.1.8\n")
    other.chmod(0o755)
    done = tools.run(tools.cc, "-c", hello_source, env={"PAGECAST_CLANG": str(other)})
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and "version 18.1.8" in done.stderr and "LLVM 19 only" in done.stderr
    assert "of the package clang-19" in done.stderr


def test_a_clang_with_a_plugin_of_its_own_gets_that(tools, hello_source, tmp_path):
    """As `make plugin16` makes one; the plugin of the first version stays that of the clang which is looked for."""
    shutil.copytree(tools.pagecast.parent, tmp_path / "bin", symlinks=True)
    (tmp_path / "lib" / "pagecast").mkdir(parents=True)
    shutil.copy(tools.command, tmp_path / "lib" / "pagecast")
    for name in (tools.runtime.name, "pagecast/pagecast-llvm19.so", "pagecast/pagecast-llvm16.so"):
        (tmp_path / "lib" / name).touch()
    other = tmp_path / "clang"
    other.write_text('#!/bin/sh\n[ "$1" = -dumpversion ] && echo 16.0.6 && exit\necho "$@"\n')
    other.chmod(0o755)
    done = tools.run(tmp_path / "bin" / "pagecast", "cc", "-c", hello_source, env={"PAGECAST_CLANG": str(other)})
    assert done.returncode == 0 and f"-fpass-plugin={tmp_path}/lib/pagecast/pagecast-llvm16.so" in done.stdout, done.stderr


def test_the_clang_in_the_path_does_if_it_has_a_plugin(tools, hello_source, tmp_path):
    """Where the first version is not installed; without a plugin for what there is, the sentence says what to install."""
    for name in ("bin", "lib/pagecast", "path"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copytree(tools.pagecast.parent, tmp_path / "bin", symlinks=True, dirs_exist_ok=True)
    shutil.copy(tools.command, tmp_path / "lib" / "pagecast")
    (tmp_path / "lib" / tools.runtime.name).touch()
    clang = tmp_path / "path" / "clang"
    clang.write_text('#!/bin/sh\n[ "$1" = -dumpversion ] && echo 16.0.6 && exit\necho "$@"\n')
    clang.chmod(0o755)
    root = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/lib/llvm-19 && exec "$@"', "sh"]
    if subprocess.run([*root, "true"], capture_output=True).returncode:
        pytest.skip("no mount namespace, in which there is no clang 19")
    command = [*root, "env", f"PATH={tmp_path}/path:/bin", tmp_path / "bin" / "pagecast", "cc", "-c", hello_source]
    without = tools.run(*command)
    assert without.returncode == 2 and "version 16.0.6" in without.stderr and "install the package clang-19" in without.stderr
    (tmp_path / "lib" / "pagecast" / "pagecast-llvm16.so").touch()
    done = tools.run(*command)
    assert done.returncode == 0 and f"-fpass-plugin={tmp_path}/lib/pagecast/pagecast-llvm16.so" in done.stdout, done.stderr


def test_programs_of_another_clang_print_what_they_print_without_hints(built, disk_dir, tmp_path):
    """With the plugin of `make plugin16`, where that was made of the same sources as the first one."""
    plugin = built.plugin.with_name("pagecast-llvm16.so")
    if not shutil.which("clang-16"):
        pytest.skip("clang-16 is not installed")
    if not plugin.exists() or plugin.stat().st_mtime < built.plugin.stat().st_mtime:
        pytest.skip("there is no plugin for it, or an old one: make plugin16")
    source, flags = SOURCES["columns.c"], ["-O3", *OUTPUT_FLAGS["columns.c"]]
    built.succeed("clang-16", *flags, source, "-o", tmp_path / "plain")
    compiled = built.run(built.cc, *flags, source, "-o", tmp_path / "hinted", env={"PAGECAST_CLANG": "clang-16"})
    assert (compiled.returncode, compiled.stderr) == (0, "")
    done, figures = run_paged(built, disk_dir, tmp_path / "stats.json", tmp_path / "hinted")
    assert done.stdout == built.succeed(tmp_path / "plain").stdout
    assert figures["hints"]["nests_opened"] > 0


def test_clang_is_absent(tools, hello_source, tmp_path):
    done = tools.run(tools.cc, "-c", hello_source, env={"PAGECAST_CLANG": str(tmp_path / "none")})
    assert done.returncode == 2 and "PAGECAST_CLANG" in done.stderr and len(done.stderr.splitlines()) == 1


def test_build_tree_that_was_moved(built, hello_source, tmp_path):
    """Everything is found relative to the command."""
    for name in ("bin", "lib"):
        shutil.copytree(built.build / name, tmp_path / "elsewhere" / name, symlinks=True, ignore=shutil.ignore_patterns("*.a"))
    cc = tmp_path / "elsewhere" / "bin" / "pagecast-cc"
    assert built.run(cc, hello_source, "-o", tmp_path / "a").returncode == 0
    assert str(tmp_path / "elsewhere" / "lib") in needed(tmp_path / "a")
    link = tmp_path / "pagecast-cc"
    link.symlink_to(cc)
    assert built.run(link, hello_source, "-o", tmp_path / "a").returncode == 0


def test_missing_plugin_is_named(tools, hello_source, tmp_path):
    (tmp_path / "bin").mkdir()
    cc = tmp_path / "bin" / "pagecast-cc"
    shutil.copy(tools.pagecast, cc)
    done = tools.run(cc, "-c", hello_source)
    assert done.returncode == 2 and done.stderr == (f"pagecast: {tmp_path}/lib/pagecast/pagecast, a part of this command, cannot be run: "
                                                    "no such file or directory; install Pagecast again\n")
    (tmp_path / "lib" / "pagecast").mkdir(parents=True)
    shutil.copy(tools.command, tmp_path / "lib" / "pagecast" / "pagecast")
    done = tools.run(cc, "-c", hello_source)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "pass plugin is not at" in done.stderr


CONFIGURE = """#!/bin/sh
# What a configure script does with its compiler: compile, link, run, ask for a header and a function.
set -e
: "${CC:=cc}"
try() { printf '%s\\n' "$1" >conftest.c; shift; "$CC" $CFLAGS -o conftest conftest.c "$@" 2>conftest.err; }
try 'int main(void) { return 0; }' || { echo "configure: C compiler cannot create executables" >&2; cat conftest.err >&2; exit 77; }
./conftest
test ! -s conftest.err
try '#include <math.h>
int main(int n, char **v) { (void)v; return cos(n) > 2; }' -lm
if try '#include <no-such-header.h>
int main(void) { return 0; }'; then exit 1; fi
if try 'int no_such_function(void); int main(void) { return no_such_function(); }'; then exit 1; fi
"$CC" -E - </dev/null >/dev/null
printf 'CC = %s\\nCFLAGS = %s\\n' "$CC" "$CFLAGS" >config.mk
"""

MAKEFILE = """include config.mk
app: main.o libpart.a
	$(CC) $(CFLAGS) -o $@ main.o -L. -lpart
libpart.a: part.o
	ar rcs $@ $^
%.o: %.c
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<
"""

PART = "int add(const int *a, int n);\nint add(const int *a, int n) {\n  int s = 0;\n  for (int i = 0; i < n; i++)\n    s += a[i];\n  return s;\n}\n"
MAIN = '#include <stdio.h>\nint add(const int *a, int n);\nint main(void) {\n  int a[100];\n  for (int i = 0; i < 100; i++)\n    a[i] = i;\n  printf("%d\\n", add(a, 100));\n  return 0;\n}\n'


def test_configure_and_make(built, tmp_path):
    for name, text in (("configure", CONFIGURE), ("Makefile", MAKEFILE), ("part.c", PART), ("main.c", MAIN)):
        (tmp_path / name).write_text(text)
    # By its name alone, since make has no quotes for a path with spaces.
    environment = {"CC": built.cc.name, "CFLAGS": "-O2 -Wall -Werror", "PATH": f"{built.cc.parent}:{os.environ['PATH']}"}
    done = built.run("sh", "./configure", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    done = built.run("make", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert built.run(tmp_path / "app").stdout == "4950\n"
    assert "libpagecast.so.0" in needed(tmp_path / "app")


def test_cmake_project(built, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(app C CXX)\ninclude(CheckFunctionExists)\n"
        "check_function_exists(no_such_function HAS_NONE)\ncheck_function_exists(puts HAS_PUTS)\n"
        "if(HAS_NONE OR NOT HAS_PUTS)\n  message(FATAL_ERROR wrong)\nendif()\n"
        "add_library(part SHARED part.c)\nadd_executable(app main.c)\ntarget_link_libraries(app part)\n"
        "add_executable(cxxapp main.cpp)\n")
    (tmp_path / "part.c").write_text(PART)
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "main.cpp").write_text("#include <iostream>\nint main() { std::cout << 1 << std::endl; }\n")
    done = built.run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_C_COMPILER={built.cc}",
                     f"-DCMAKE_CXX_COMPILER={built.cxx}", "-DCMAKE_BUILD_TYPE=Release")
    assert done.returncode == 0, done.stderr
    done = built.run("cmake", "--build", tmp_path / "b")
    assert done.returncode == 0, done.stdout
    assert built.run(tmp_path / "b" / "app").stdout == "4950\n"
    assert built.run(tmp_path / "b" / "cxxapp").stdout == "1\n"
