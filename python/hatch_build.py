# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the installed tree that PAGECAST_PREFIX names into the wheel, as pagecast/prefix, and tags it for this machine."""

import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PARTS = ("bin", "lib", "include", "share")


def files(prefix: Path) -> "list[Path]":
    """Wheels have no links: of a library, the names that link to it are copies and its own is left out. The names of the
    command are _command.py's."""
    found = [path for part in PARTS for path in (prefix / part).rglob("*") if path.is_file()]
    linked = {path.resolve() for path in found if path.is_symlink()}
    libraries = [path for path in found if "bin" not in path.relative_to(prefix).parts]
    return sorted([path for path in libraries if path.is_symlink() or path.resolve() not in linked] + [prefix / "bin" / "pagecast"])


class InstalledTree(BuildHookInterface):
    def initialize(self, version, build_data):
        named = os.environ.get("PAGECAST_PREFIX")
        if not named or not Path(named, "bin", "pagecast").exists():
            raise RuntimeError("PAGECAST_PREFIX must name a tree that `cmake --install` made; `make wheel` does all of it")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{os.uname().machine}"
        for path in files(Path(named)):
            build_data["force_include"][str(path)] = f"pagecast/prefix/{path.relative_to(named)}"
