# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The applications that read files, with hints by hand."""

import subprocess
from pathlib import Path

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "apps").is_dir())


def compiled_app(build: Path, name: str, place: Path) -> Path:
    """apps/files/NAME.c, linked to the build tree's library."""
    made = place / name
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'runtime' / 'include'}", ROOT / "apps" / "files" / f"{name}.c",
                    f"-L{build / 'lib'}", "-lpagecast-hints", f"-Wl,-rpath,{build / 'lib'}", "-o", made], check=True)
    return made
