#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the runtime's table of options into docs/options.md, or with --check says whether it is there."""

import ctypes
import re
import sys
from pathlib import Path

MANUAL = Path(__file__).with_name("options.md")


def options(library: Path) -> str:
    text = ctypes.CDLL(str(library)).pagecast_options_help
    text.restype = ctypes.c_char_p
    return text().decode()


def with_options(manual: str, table: str) -> str:
    return re.sub(r"(<!-- options: .*?-->\n```\n).*?(```\n<!-- end of options -->)",
                  lambda m: m.group(1) + table + m.group(2), manual, flags=re.DOTALL)


def main(library: str, *flags: str) -> int:
    old = MANUAL.read_text()
    new = with_options(old, options(Path(library)))
    if "--check" in flags:
        return 0 if new == old else 1
    MANUAL.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
