# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sources are as clang-format leaves them, and what they do not call."""

import re
import shutil
import subprocess

import pytest

from places import ROOT


def test_sources_are_formatted():
    command = shutil.which("clang-format-19")
    if not command:
        pytest.skip("clang-format-19 is not installed")
    kept = [ROOT / d for d in ("cli", "compiler", "core", "nbd", "runtime", "simulator", "speculate", "storage", "tests/slow_disk", "tests/unit")]
    files = [f for d in kept for suffix in ("*.cpp", "*.h", "*.c") for f in d.rglob(suffix)]
    assert len(files) > 300
    done = subprocess.run([command, "--dry-run", "-Werror", *files], capture_output=True, text=True)
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "error:" in line)


def test_the_pagers_thread_does_not_format_by_the_c_library():
    """Whoever registers specifiers with printf, and translations of errors, have tables on the heap, which may be paged."""
    rooms = ("engine", "files", "kernel", "memory", "nbd", "pager", "store")
    found = [f"{f.relative_to(ROOT)}: {word.group()}" for room in rooms for f in (ROOT / "runtime" / room).glob("*.cpp")
             for word in re.finditer(r"\b\w*printf\(|\bstrerror\(", f.read_text())]
    assert not found, "\n" + "\n".join(found)
