# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What copies do as the kernel sees it: each system call that their filter has let through, by the kernel's own tracing. The
filter stands before the place where calls are recorded, so what it has refused is not there."""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "speculate" / "sandbox").is_dir())
COPY = "pagecast-copy"  # a copy calls itself so before it locks itself up
SECCOMP = 317


class Unavailable(Exception):
    """This machine cannot have it; the text is the reason."""


def allowed_calls(place: Path) -> tuple[set[int], set[int]]:
    """The numbers of the calls that copies may make, as sandbox/calls.def lists them, and those that their own code alone may."""
    source = place / "calls.cpp"
    source.write_text('#include <cstdio>\n#include <sys/syscall.h>\nint main() {\n#define NATIVE(name) printf("N %d\\n", SYS_##name);\n'
                      '#define OWN(name) printf("O %d\\n", SYS_##name);\n#include "speculate/sandbox/calls.def"\n}\n')
    subprocess.run(["c++", "-w", f"-I{ROOT}", source, "-o", place / "calls"], check=True)
    lines = subprocess.run([place / "calls"], capture_output=True, text=True, check=True).stdout.split("\n")
    kinds = [{int(line[2:]) for line in lines if line.startswith(kind)} for kind in "NO"]
    return kinds[0], kinds[1]


@contextlib.contextmanager
def tracing(place: Path) -> Iterator[Path]:
    """A buffer of the kernel's tracing of its own, into which the calls of copies go."""
    place.mkdir()
    if subprocess.run(["mount", "-t", "tracefs", "nodev", place], capture_output=True).returncode:
        raise Unavailable("the kernel's tracing cannot be mounted")
    buffer = place / "instances" / f"pagecast-{os.getpid()}"
    try:
        buffer.mkdir()
        event = buffer / "events" / "raw_syscalls" / "sys_enter"
        if not event.exists():
            raise Unavailable("the kernel does not trace system calls")
        (buffer / "buffer_size_kb").write_text("8192")
        (event / "filter").write_text(f'comm == "{COPY}"')
        (event / "enable").write_text("1")
        yield buffer
    finally:
        with contextlib.suppress(OSError):
            (buffer / "events" / "enable").write_text("0")
            buffer.rmdir()
        subprocess.run(["umount", place], check=True)


def calls_of_copies(buffer: Path) -> list[tuple[int, list[int]]]:
    """Each call after its copy had locked itself up: number and arguments."""
    locked, calls = set(), []
    for line in (buffer / "trace").read_text().splitlines():
        found = re.match(rf"\s*{COPY}-(\d+) .*: NR (-?\d+) \(([^)]*)\)", line)
        if not found:
            continue
        process, number, arguments = found[1], int(found[2]), [int(a, 16) for a in found[3].split(",")]
        if process in locked:
            calls.append((number, arguments))
        elif number == SECCOMP:
            locked.add(process)
    return calls
