# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where there can be no copies, the program runs as it would: one warning at most, and its own status."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from speculating import speculation, storage  # noqa: F401

SCRIPT = "import time; time.sleep(0.3); print('done'); raise SystemExit(3)"
WARNING = "pagecast: warning: the program runs without hints: "


def same(done, reason: str):
    assert (done.returncode, done.stdout) == (3, "done\n")
    assert done.stderr == (WARNING + reason + "\n" if reason else "")


@pytest.fixture(scope="module")
def filtered(tmp_path_factory):
    """A program that refuses one system call to the command that it becomes, as containers may: filtered NUMBER COMMAND."""
    place = tmp_path_factory.mktemp("filtered")
    (place / "filtered.c").write_text(
        '#include <linux/seccomp.h>\n#include <linux/filter.h>\n#include <stdlib.h>\n#include <sys/prctl.h>\n'
        '#include <unistd.h>\n'
        'int main(int n, char **v) {\n  struct sock_filter all[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},\n'
        '    {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, (unsigned)atoi(v[1])}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},\n'
        '    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | 1}};\n'
        '  struct sock_fprog program = {4, all};\n  (void)n;\n  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);\n'
        '  prctl(PR_SET_SECCOMP, 2, &program);\n  execvp(v[2], v + 2);\n  return 1;\n}\n')
    subprocess.run(["cc", place / "filtered.c", "-o", place / "filtered"], check=True)
    return place / "filtered"


@pytest.mark.parametrize("refused", ["-1", "101", "317", "310"], ids=["nothing", "ptrace", "seccomp", "process_vm_readv"])
def test_a_program_with_a_filter_of_its_own(speculation, filtered, refused):
    """Containers have one, and it may refuse what copies need."""
    # The filter that the program was started with is the controller's, too: it is inherited.
    done = subprocess.run([filtered, refused, *speculation.command("/usr/bin/python3", "-c", SCRIPT, stats=False)],
                          capture_output=True, text=True, timeout=30)
    same(done, "it has a seccomp filter of its own")


@pytest.mark.parametrize("refused,reason,advice", [("101", "programs cannot be traced", "kernel.yama.ptrace_scope"),
                                                   ("317", "seccomp filters are not allowed", "allow the seccomp system call"),
                                                   ("-1", "programs have a seccomp filter already", "seccomp=unconfined")],
                         ids=["ptrace", "seccomp", "filter"])
def test_the_doctor_says_what_the_host_refuses(tools, filtered, refused, reason, advice):
    done = subprocess.run([filtered, refused, tools.pagecast, "doctor"], capture_output=True, text=True, timeout=60)
    line = next(line for line in done.stdout.splitlines() if line.split()[1:2] == ["speculation"])
    assert line.startswith("warn") and f"{reason}: pagecast speculate runs programs without hints" in line and advice in done.stdout


def test_a_program_under_another_tracer(speculation):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    done = subprocess.run(["strace", "-o", "/dev/null", *speculation.command("/usr/bin/python3", "-c", SCRIPT, stats=False)],
                          capture_output=True, text=True, timeout=60)
    same(done, "another process traces it")


def test_a_32_bit_program(speculation, tmp_path):
    source = tmp_path / "small.s"  # needs no library of 32 bits: sleeps a little, writes, and exits
    source.write_text('.globl _start\n_start:\n mov $162,%eax\n mov $time,%ebx\n xor %ecx,%ecx\n int $0x80\n mov $4,%eax\n mov $1,%ebx\n'
                      ' mov $text,%ecx\n mov $5,%edx\n int $0x80\n mov $1,%eax\n mov $3,%ebx\n int $0x80\n'
                      '.data\ntext: .ascii "done\\n"\n.balign 4\ntime: .long 0, 300000000\n')
    made = subprocess.run(["sh", "-c", f"as --32 {source} -o {source}.o && ld -m elf_i386 {source}.o -o {tmp_path}/small"],
                          capture_output=True)
    if made.returncode:
        pytest.skip("no tools for 32-bit programs")
    done = subprocess.run(speculation.command(tmp_path / "small", stats=False), capture_output=True, text=True, timeout=30)
    same(done, "it is not a 64-bit program")


def test_a_set_uid_program_keeps_its_privilege(speculation, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root to make one")
    program = tmp_path / "who"
    (tmp_path / "who.c").write_text('#include <stdio.h>\n#include <unistd.h>\n'
                                    'int main() { usleep(300000); printf("%d %d\\n", getuid(), geteuid()); return 3; }\n')
    subprocess.run(["cc", tmp_path / "who.c", "-o", program], check=True)
    place = "/var/tmp/pagecast-test-who"
    shutil.copy(program, place)
    try:
        os.chown(place, 0, 0)
        os.chmod(place, 0o4755)
        done = subprocess.run(speculation.command(place, stats=False), capture_output=True, text=True, timeout=30, user=65534, group=65534,
                              cwd="/")
    finally:
        os.unlink(place)
    assert (done.returncode, done.stdout) == (3, "65534 0\n")
    assert done.stderr == WARNING + "the host does not allow it to be traced (another user's program, or ptrace_scope)\n"


def test_static_programs_are_copied_too(speculation, storage, tmp_path):
    (tmp_path / "reads.c").write_text('#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\nint main() {\n  char b[4096];\n  long n = 0;\n'
                                      '  int f = open("file", O_RDONLY);\n  for (long i = 0; i < 200; i++) n += pread(f, b, 4096, i * 37 % 256 * 65536);\n'
                                      '  printf("%ld\\n", n);\n  return 0;\n}\n')
    made = subprocess.run(["cc", "-static", tmp_path / "reads.c", "-o", tmp_path / "reads"], capture_output=True)
    if made.returncode:
        pytest.skip("no static C library")
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "file", "wb") as file:
        file.truncate(16 << 20)
    done = speculation.run(tmp_path / "reads", cwd=storage(tmp_path / "data"))
    assert done.stdout == b"819200\n"
    assert speculation.figures()["copies"]["made"] >= 1


@pytest.mark.parametrize("room", ["novdso", "bare"])
@pytest.mark.parametrize("linked", ["-static", "-pie"])
def test_a_program_without_a_vdso(speculation, storage, tmp_path, linked, room):
    """The instructions go behind its own; where there is no room either, it is left alone."""
    made = subprocess.run(["cc", linked, Path(__file__).parent / "reader.c", "-o", tmp_path / "reader"], capture_output=True)
    if made.returncode:
        pytest.skip("no static C library")
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "file", "wb") as file:
        file.truncate(32 << 20)
    command = speculation.command(tmp_path / "reader", storage(tmp_path / "data") / "file", 0, room)
    command[2:2] = ["--eager"]
    done = subprocess.run(command, input="go\n", capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, "81920\n")
    assert done.stderr == (WARNING + "it has no room for a few instructions (no vdso)\n" if room == "bare" else "")
    assert (speculation.figures()["copies"]["made"] >= 1) == (room == "novdso")


def test_a_program_that_may_not_clone(speculation, storage, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("the limit does not count for the user that slow storage needs, so another one is taken")
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "file", "wb") as file:
        file.truncate(16 << 20)
    script = ("import os, resource\nresource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\nos.setgid(65534); os.setuid(65534)\n"
              "f = os.open('file', os.O_RDONLY)\nprint(sum(len(os.pread(f, 4096, i * 37 % 256 << 16)) for i in range(200)))\n")
    done = speculation.run("/usr/bin/python3", "-c", script, cwd=storage(tmp_path / "data"))
    assert (done.stdout, done.returncode) == (b"819200\n", 0)


@pytest.mark.parametrize("options", [(), ("--summary",)])
def test_nothing_is_left_of_what_cannot_start(tools, tmp_path, options):
    """The controller has ended by then: it shares memory with the process that would have become the program."""
    script = tmp_path / "script"
    script.write_text("#!/nowhere/sh\n")
    script.chmod(0o755)
    look = ("import ctypes, os, subprocess, sys\nctypes.CDLL(None).prctl(36, 1)\n"  # orphans become children of this process
            "done = subprocess.run(sys.argv[1:], capture_output=True)\n"
            "try:\n    print('left', os.waitpid(-1, 0x40000000 | os.WNOHANG))\n"
            "except ChildProcessError:\n    print('nothing is left', done.returncode)\n")
    done = tools.run(sys.executable, "-c", look, tools.pagecast, "speculate", *options, "--", script)
    assert done.stdout == "nothing is left 127\n", done.stdout + done.stderr
