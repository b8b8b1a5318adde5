# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts the command that the wheel carries, in the place of this process."""

import os
import sys
from pathlib import Path

PREFIX = Path(__file__).resolve().parent / "prefix"


def _become(name: str) -> None:
    """The command goes by its name: under those of compilers it is one. Cost: a start of Python, some 20 ms."""
    os.execv(PREFIX / "bin" / "pagecast", [name, *sys.argv[1:]])


def pagecast() -> None:
    _become("pagecast")


def pagecast_cc() -> None:
    _become("pagecast-cc")


def pagecast_cxx() -> None:
    _become("pagecast-c++")


def pagecast_fc() -> None:
    _become("pagecast-fc")
