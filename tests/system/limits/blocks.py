# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of some blocks of memory, for disks and limits that stand in its way."""

from pathlib import Path

SOURCE = Path(__file__).with_name("blocks.c")


def blocks(built, *arguments) -> tuple[list[str], str]:
    """The command of the hinted build, and what the plain one prints. The arguments are those of blocks.c."""
    words = [str(argument) for argument in arguments]
    plain = built.compile("clang-19", SOURCE, "-O2")
    return [str(built.compile(built.cc, SOURCE, "-O2")), *words], built.run(plain, *words).stdout
