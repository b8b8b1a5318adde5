# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast run: what it refuses, in which words, and what it lets through."""

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

FILL = Path(__file__).with_name("fill.c")
BAD_USAGE = 2


NOT_EXECUTABLE, NOT_FOUND = 126, 127


def one_sentence(done, *words, status=BAD_USAGE):
    """That exit status, nothing on stdout, and one line on stderr that has all the words."""
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("pagecast: "), done.stderr
    for word in words:
        assert word in lines[0], lines[0]


@pytest.mark.parametrize("size, words", [
    ("0", ("--memory", "'0'", "is zero", "16 MiB")),
    ("-5M", ("'-5M'", "is negative")),
    ("lots", ("'lots'", "is not a size", "256M")),
    ("12Q", ("'12Q'", "is not a size")),
    ("1.2.3M", ("'1.2.3M'", "is not a size")),
    ("M", ("'M'", "is not a size")),
    ("1M", ("'1M'", "below the minimum of 16 MiB")),
    ("16777215", ("below the minimum",)),
    ("100T", ("'100T'", "more memory than this machine has")),
    ("99999999999999999999999", ("more than any machine has",)),
])
def test_memory_size_is_refused(tools, size, words):
    one_sentence(tools.run(tools.pagecast, "run", f"--memory={size}", "--", "true"), *words)


def test_memory_size_of_the_environment_is_checked_too(tools):
    done = tools.run(tools.pagecast, "run", "--", "true", env={"PAGECAST_MEMORY": "1k"})
    one_sentence(done, "PAGECAST_MEMORY", "below the minimum")


@pytest.mark.parametrize("size, expected", [
    ("64M", 64 << 20), ("64MiB", 64 << 20), ("64MB", 64 << 20), ("65536k", 64 << 20), ("67108864", 64 << 20),
    ("0.0625G", 64 << 20), ("1.5e", None), ("64m", 64 << 20), ("64 MiB", 64 << 20), ("16M", 16 << 20), ("auto", "auto"),
])
def test_memory_size_is_understood(tools, size, expected):
    done = tools.run(tools.pagecast, "run", "--memory", size, "--", "/bin/sh", "-c", "echo $PAGECAST_MEMORY")
    if expected is None:
        one_sentence(done)
    else:
        assert done.stdout.strip() == str(expected), done.stderr


def test_memory_size_above_the_control_group_is_reported_but_allowed(tools, memory_group):
    from harness import runs
    done = runs.run([tools.pagecast, "run", "--memory", "128M", "--", "true"], memory_group(64 << 20))
    assert done.ok and "control group's limit of 64 MiB" in done.errors


def test_backing_directory_is_missing(tools, tmp_path):
    one_sentence(tools.run(tools.pagecast, "run", "--backing", tmp_path / "none", "--", "true"),
                 "none", "no such file", "--backing")


def test_backing_directory_is_a_file(tools, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    one_sentence(tools.run(tools.pagecast, "run", "--backing", file, "--", "true"), "is not a directory")


def test_backing_directory_in_memory_is_refused(tools):
    if subprocess.run(["stat", "-f", "-c", "%T", "/dev/shm"], capture_output=True, text=True).stdout.strip() != "tmpfs":
        pytest.skip("/dev/shm is no tmpfs here")
    one_sentence(tools.run(tools.pagecast, "run", "--backing", "/dev/shm", "--", "true"), "tmpfs", "memory")


def test_backing_directory_without_permission(tools, disk_dir):
    if os.geteuid() != 0:
        prefix = []
        disk_dir.chmod(0o500)
    else:  # root may write anywhere, so somebody else tries
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        disk_dir.chmod(0o755)
        if subprocess.run([*prefix, tools.pagecast, "--version"], capture_output=True).returncode:
            pytest.skip("another user cannot run the command where it lies")
    one_sentence(tools.run(*prefix, tools.pagecast, "run", "--backing", disk_dir, "--", "true"), "permission denied")


@pytest.fixture
def small_disk(tmp_path):
    """A function that mounts a fresh ext4 file system with options; unmounted at the end."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    image, point = tmp_path / "image", tmp_path / "disk"
    point.mkdir()
    image.touch()
    os.truncate(image, 8 << 20)
    mounted = []

    def mount(*options):
        for command in (["/usr/sbin/mkfs.ext4", "-q", "-m", "0", image], ["mount", "-o", ",".join(("loop", *options)), image, point]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        mounted.append(point)
        return point

    yield mount
    for at in mounted:
        subprocess.run(["umount", at])


def test_backing_directory_is_read_only(tools, small_disk):
    one_sentence(tools.run(tools.pagecast, "run", "--backing", small_disk("ro"), "--", "true"), "read-only")


def test_backing_directory_is_full(tools, small_disk):
    point = small_disk()
    with open(point / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 65536):
                pass
        except OSError:
            pass
    one_sentence(tools.run(tools.pagecast, "run", "--backing", point, "--", "true"), "is full")


def test_little_room_is_reported_but_allowed(tools, small_disk):
    done = tools.run(tools.pagecast, "run", "--backing", small_disk(), "--", "/bin/sh", "-c", "echo $PAGECAST_BACKING")
    assert done.returncode == 0 and done.stdout.strip().endswith("/disk")
    assert "warning: only" in done.stderr and "free in the backing directory" in done.stderr


def test_statistics_file_is_made_absolute(tools, tmp_path):
    done = tools.run(tools.pagecast, "run", "--stats", "s.json", "--", "/bin/sh", "-c", "echo $PAGECAST_STATS", cwd=tmp_path)
    assert done.stdout.strip() == str(tmp_path / "s.json")


def test_statistics_file_cannot_be_written(tools, tmp_path):
    one_sentence(tools.run(tools.pagecast, "run", "--stats", tmp_path / "none" / "s.json", "--", "true"), "directory does not exist")
    one_sentence(tools.run(tools.pagecast, "run", "--stats", tmp_path, "--", "true"), "is a directory")
    (tmp_path / "file").touch()
    one_sentence(tools.run(tools.pagecast, "run", "--stats", tmp_path / "file" / "s.json", "--", "true"), f"{tmp_path}/file is no directory")


def statistics_of(tools, file, *program):
    """A run with --stats `file`, of a program that has the runtime: it writes them when it ends."""
    return tools.run(tools.pagecast, "run", "--memory", "64M", "--stats", file, "--", *(program or ["true"]))


def test_statistics_take_nothing_away_but_a_file_of_an_earlier_run(tools, tmp_path):
    """Devices, pipes and links are somebody else's: /dev/null must not become a file."""
    if os.geteuid() != 0:
        pytest.skip("making a device needs root")
    null = tmp_path / "null"
    os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("of an earlier run")
    link.symlink_to(file)
    for name in (null, pipe, link):
        assert statistics_of(tools, name).returncode == 0
    os.close(reader)
    assert stat.S_ISCHR(null.lstat().st_mode) and stat.S_ISFIFO(pipe.lstat().st_mode) and link.is_symlink()
    assert not file.exists() or file.read_text() != "of an earlier run"


def test_a_slip_of_the_pen_costs_no_file(tools, tmp_path):
    """The name of the program in the place of the statistics', or a program that is not there."""
    program, file = tmp_path / "program", tmp_path / "s.json"
    shutil.copy("/bin/true", program)
    file.write_text("of an earlier run")
    one_sentence(statistics_of(tools, program, program), "is the program itself")
    one_sentence(statistics_of(tools, program, "no-such-program-here"), "not found in PATH", status=NOT_FOUND)
    one_sentence(statistics_of(tools, file, "no-such-program-here"), "not found in PATH", status=NOT_FOUND)
    assert program.exists() and file.read_text() == "of an earlier run"


@pytest.mark.parametrize("option", ["--memory", "--backing", "--stats", "--release"])
def test_empty_value_is_refused(tools, option):
    """As of a script's variable that was never set."""
    one_sentence(tools.run(tools.pagecast, "run", f"{option}=", "--", "true"), option, "has no value")
    one_sentence(tools.run(tools.pagecast, "run", option, "", "--", "true"), option, "empty")


def test_release_policy(tools):
    one_sentence(tools.run(tools.pagecast, "run", "--release", "greedy", "--", "true"), "'greedy'", "buffered")
    done = tools.run(tools.pagecast, "run", "--release", "buffered", "--", "/bin/sh", "-c", "echo $PAGECAST_RELEASE")
    assert done.stdout.strip() == "buffered"


def test_other_options_reach_the_runtime(tools):
    done = tools.run(tools.pagecast, "run", "--option", "distance=64", "--option", "PAGECAST_SCHEDULE=nested", "--",
                     "/bin/sh", "-c", "echo $PAGECAST_DISTANCE $PAGECAST_SCHEDULE")
    assert done.stdout.strip() == "64 nested"
    done = tools.run(tools.pagecast, "run", "--option", "distance=32", "/bin/sh", "-c", "echo $PAGECAST_DISTANCE")
    assert done.stdout.strip() == "32", done.stderr  # the program follows without a --
    one_sentence(tools.run(tools.pagecast, "run", "--option", "distance", "--", "true"), "NAME=VALUE")


@pytest.mark.parametrize(("assignment", "said"), [
    ("foo=1", "there is no option FOO"), ("distanse=4", "the nearest is DISTANCE"), ("distance=-1", "is not a number"), ("distance=", "no value"),
    ("gate=many", "--option GATE"), ("history=maybe", "none of its values; write 1, 0, on, off, yes or no"),
    ("schedule=x", "single, nested or continuous"), ("backend=x", "auto, pager or advise"), ("distance=99999999999999999999", "is not a number"), ("memory=0", "is zero"), ("io=0", "write 4K or more"), ("memory=1P", "more memory than this machine has"),
    ("backing=/dev/shm", "memory"), ("release=greedy", "is no policy")])
def test_other_options_are_checked_like_those_with_names(tools, assignment, said):
    done = tools.run(tools.pagecast, "run", "--option", assignment, "--", "true")
    assert done.returncode == 2
    one_sentence(done, said)


def test_what_is_no_program_is_said_so(tools, tmp_path):
    for content, said, status in (("echo hello\n", "its first line must name what runs it", NOT_EXECUTABLE), ("", "is no program", NOT_EXECUTABLE),
                                  ("#!/none/sh\n", "does not exist", NOT_FOUND)):
        (tmp_path / "script").write_text(content)
        (tmp_path / "script").chmod(0o755)
        one_sentence(tools.run(tools.pagecast, "run", "--", tmp_path / "script"), said, status=status)


def test_program_is_missing(tools, tmp_path):
    one_sentence(tools.run(tools.pagecast, "run", "--"), "no program")
    one_sentence(tools.run(tools.pagecast, "run", "--", "no-such-program-here"), "not found in PATH", status=NOT_FOUND)
    one_sentence(tools.run(tools.pagecast, "run", "--", tmp_path / "none"), "does not exist", status=NOT_FOUND)
    one_sentence(tools.run(tools.pagecast, "run", "--", tmp_path), "is a directory", status=NOT_EXECUTABLE)
    one_sentence(tools.run(tools.pagecast, "run", "--", "."), "is a directory", status=NOT_EXECUTABLE)
    one_sentence(tools.run(tools.pagecast, "run", "--", tmp_path / ("x" * 300)), "cannot be reached", "too long", status=NOT_EXECUTABLE)
    one_sentence(tools.run(tools.pagecast, "run", "--", ""), "name is empty")
    plain = tmp_path / "plain"
    plain.write_text("x")
    one_sentence(tools.run(tools.pagecast, "run", "--", plain), "is not executable", "chmod +x", status=NOT_EXECUTABLE)
    for name, compiler in (("solve.cpp", "cc"), ("climate.F90", "fc")):
        (tmp_path / name).write_text("x")
        one_sentence(tools.run(tools.pagecast, "run", "--", tmp_path / name), "is a source", f"pagecast {compiler} ", status=NOT_EXECUTABLE)
    for name, interpreter in (("rows.py", "python3"), ("rows.R", "Rscript"), ("rows.m", "octave")):
        (tmp_path / name).write_text("x")
        for given in (name, f"./{name}", tmp_path / name):  # as found in the folder, though not in PATH
            said = f"is a script; write what runs it, too: -- {interpreter} {given}"
            one_sentence(tools.run(tools.pagecast, "run", "--", given, cwd=tmp_path), said, status=NOT_EXECUTABLE)


def test_misspelt_option_and_command(tools):
    one_sentence(tools.run(tools.pagecast, "run", "--memroy", "1G", "--", "true"), "--memroy", "--memory")
    one_sentence(tools.run(tools.pagecast, "run", "--", "--memory"), "program --memory", "not found in PATH", status=NOT_FOUND)
    one_sentence(tools.run(tools.pagecast, "rnu"), "'rnu'", "'run'")
    one_sentence(tools.run(tools.pagecast, "dcotor"), "'doctor'")


@pytest.mark.parametrize("command, said", [
    ("run --memory", "--memory has no value; see pagecast run --help"), ("run --memory 1G --memory 2G -- true", "--memory was given more than once"),
    ("speculate --summary=x -- true", "--summary takes no such value"), ("explain", "no FILE was given; see pagecast explain --help"),
    ("explain a.c b.c", "'b.c' is one argument too many; options of the compiler follow --"), ("report", "no STATS.JSON was given"),
    ("explain --bogus a.c", "has no option --bogus"), ("report --jsn s.json", "pagecast report has no option --jsn; the nearest is --json"),
    ("top x", "'x' is one argument too many"), ("top --interval nan", "--interval: 'nan' is no number from 0.05 to 3600"),
    ("top --interval -1", "'-1' is no number from 0.05"), ("top --count 0", "'0' is no number from 1 to 1000000000"),
    ("top --count 1.5", "'1.5' is no whole number"), ("top --count 99999999999999999999", "no number from 1 to"),
    ("serve --policy x .", "--policy: 'x' is none of aging, 2q"), ("serve --latency -1 .", "'-1' is no number from 0 to 10000"),
    ("serve --policy", "--policy has no value"), ("doctor --disk-seconds x", "'x' is no number from 0.1 to 60"), ("doctor --no-disk=x", "--no-disk takes no such value"),
    ("doctor --disk-seconds", "--disk-seconds has no value"), ("completions ksh", "'ksh' is none of bash, zsh, fish"), ("man run x", "one argument too many"),
    ("--bogus", "pagecast has no option --bogus; pagecast --help lists them all"),
    ("bogus", "there is no command 'bogus'; pagecast --help lists them all"), ("run --memory AUTOS true", "or the word auto"),
    ("run --option foo=1 true", "there is no option FOO; pagecast run --help lists them all"),
    ("doctor --foo", "pagecast doctor has no option --foo; pagecast doctor --help lists them all"),
    ("run --backing /proc true", "/proc is a proc, whose files hold no data; name a directory on a disk")])
def test_wrong_words_are_answered_in_ours(tools, command, said):
    one_sentence(tools.run(tools.pagecast, *command.split()), said)


VERBOSE = {"PAGECAST_VERBOSE": "1"}


def test_program_that_was_not_compiled_with_pagecast_runs_without_a_word(tools):
    command = (tools.pagecast, "run", "--memory", "64M", "--", "/bin/sh", "-c", "echo as ever; exit 7")
    done = tools.run(*command)
    assert (done.returncode, done.stdout, done.stderr) == (7, "as ever\n", "")
    assert "/bin/sh was not compiled with pagecast" in tools.run(*command, env=VERBOSE).stderr


@pytest.fixture
def copied(tools, tmp_path):
    """The command and the runtime in a folder of the given name."""
    def copy(folder: str):
        for name in ("bin/pagecast", "lib/pagecast/pagecast", "lib/libpagecast.so"):
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tools.build / name, tmp_path / folder / name)
        return tmp_path / folder / "bin" / "pagecast"
    return copy


def test_runtime_is_loaded_from_any_folder(tools, copied):
    done = tools.run(copied("with spaces, ä 日"), "run", "--", "/bin/sh", "-c", "cat /proc/self/maps")
    assert (done.returncode, done.stderr) == (0, "")
    assert "with spaces, ä 日/lib/libpagecast.so" in done.stdout
    one_sentence(tools.run(copied("with:colon"), "run", "--", "/bin/sh", "-c", ":"), "colon", "with:colon")


def test_script_runs_without_a_word(tools, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho \"$1\"\n")
    script.chmod(0o755)
    done = tools.run(tools.pagecast, "run", "--", script, "--memory")
    assert (done.returncode, done.stdout, done.stderr) == (0, "--memory\n", "")
    assert "is a script" in tools.run(tools.pagecast, "run", "--", script, env=VERBOSE).stderr


def test_statistics_say_whether_the_program_was_compiled_with_pagecast(built, tmp_path):
    for compiler, compiled in ((built.cc, True), ("clang-19", False)):
        program = built.compile(compiler, FILL, "-O2")
        assert built.run(built.pagecast, "run", "--stats", tmp_path / "s.json", "--", program, "1").returncode == 0
        assert json.loads((tmp_path / "s.json").read_text())["compiled"] is compiled


def test_compiled_program_runs_without_a_word(built, hello_source, tmp_path):
    program = tmp_path / "hello"
    assert built.run(built.cc, hello_source, "-o", program).returncode == 0
    done = built.run(built.pagecast, "run", "--memory", "64M", "--", program, "text", "more")
    assert (done.returncode, done.stdout, done.stderr) == (1, "text\n", "")


def test_static_program_runs_after_one_warning(tools, hello_source, tmp_path):
    program = tmp_path / "hello"
    if tools.run("clang-19", "-static", hello_source, "-o", program).returncode:
        pytest.skip("no static C library is installed")
    done = tools.run(tools.pagecast, "run", "--", program)
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert len(done.stderr.splitlines()) == 1 and "linked statically" in done.stderr


def test_damaged_program_does_not_confuse_the_warning(tools, tmp_path):
    """The ELF reader meets files that end anywhere."""
    whole = open("/bin/true", "rb").read()
    for length in (0, 1, 2, 10, 63, 64, 100, 500, 4096, 10000):
        program = tmp_path / f"cut{length}"
        program.write_bytes(whole[:length])
        program.chmod(0o755)
        done = tools.run(tools.pagecast, "run", "--", program)
        assert done.returncode >= 0 or -done.returncode in (7, 11), f"length {length}: {done}"
