# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An audit of copies from outside: the kernel records each call that they make, and each must be on the list."""

import fcntl
import mmap
import os
import signal
import subprocess
from pathlib import Path

import pytest

from auditing import Unavailable, allowed_calls, calls_of_copies, tracing
from speculating import speculation, storage  # noqa: F401

HERE = Path(__file__).parent
OPENAT, MMAP, MADVISE, PREADV2, FCNTL, FUTEX, PRLIMIT, SIGACTION = 257, 9, 28, 327, 72, 202, 302, 13
WITH_CONDITIONS = {MMAP, MADVISE, PREADV2, SIGACTION}
NO_WAIT, WAKE = 8, 1
WRITING = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def is_harmless(number: int, a: list[int]) -> bool:
    """What of the conditions can be told from the arguments alone."""
    match number:
        case 257:
            return a[2] & WRITING == 0
        case 9:
            return a[3] & mmap.MAP_SHARED == 0
        case 28:
            return a[2] <= mmap.MADV_DONTNEED or a[2] == 8
        case 327:
            return a[5] == NO_WAIT
        case 13:
            return a[0] not in (signal.SIGSYS, signal.SIGSEGV)
        case 72:
            return a[1] in (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD)
        case 202:
            return a[1] == WAKE
        case 302:
            return a[2] == 0
    return True


@pytest.mark.alone  # a copy at idle priority must come to be made
@pytest.mark.parametrize("program", ["effects", "composed", "mapped", "search"])
def test_each_call_of_a_copy_is_on_the_list(speculation, storage, tmp_path, program):
    data, written = tmp_path / "data", tmp_path / "written"
    (data / "names").mkdir(parents=True)
    written.mkdir()
    (data / "file").write_bytes(os.urandom(24 << 20))
    for i in range(6):
        (data / "names" / f"n{i}").write_bytes(os.urandom(5000))
    commands = {"effects": ("file", written, "100"), "composed": ("7", "12", written), "mapped": ("file", "caught", "100")}
    if program in commands:
        subprocess.run(["cc", "-O2", "-pthread", HERE / f"{program}.c", "-o", tmp_path / program], check=True)
    command = (tmp_path / program, *commands[program]) if program in commands else ("grep", "-rc", "needle", ".")
    native, own = allowed_calls(tmp_path)
    try:
        for i in range(3):  # a copy may come to little before its original goes on
            place = storage(data)
            with tracing(tmp_path / f"tracing{i}") as buffer:
                line = speculation.command(*command)
                line[2:2] = ["--eager"]  # several copies, of which one gets somewhere
                subprocess.run(line, capture_output=True, timeout=120, cwd=place, start_new_session=True)
                calls = calls_of_copies(buffer)
            if len(calls) > 3:
                break
    except Unavailable as reason:
        pytest.skip(str(reason))
    figures = speculation.figures()
    assert figures["copies"]["made"] >= 1, figures
    assert len(calls) > 3, (calls, figures)
    seen = {number for number, _ in calls}
    assert seen <= native | own | WITH_CONDITIONS, sorted(seen - native - own - WITH_CONDITIONS)
    wrong = [(number, [hex(x) for x in a]) for number, a in calls if not is_harmless(number, a)]
    assert not wrong
