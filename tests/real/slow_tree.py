# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A directory that is slow to read, and that programs may write to all the same: what they write is on the machine's
own disk, over the directory as slow storage has it."""

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "system" / "speculate"))

from slow import Unavailable, slow_storage  # noqa: E402

SERVERS = 4


def mounted(*arguments) -> str:
    """Empty, or why it was not."""
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True).stderr.strip()


@contextlib.contextmanager
def slow_tree(build: Path, directory: Path, place: Path, milliseconds: float) -> Iterator[Path]:
    """`directory`, slow and writable at `place`. What was written is gone afterwards, and nothing is cached at first."""
    scratch = place.with_name(place.name + ".written")
    shutil.rmtree(scratch, ignore_errors=True)
    for part in ("upper", "work", "lower"):
        (scratch / part).mkdir(parents=True)
    place.mkdir(exist_ok=True)
    (build / "tests").mkdir(exist_ok=True)
    try:
        with slow_storage(build, directory, scratch / "lower", SERVERS, milliseconds) as lower:
            parts = f"lowerdir={lower},upperdir={scratch / 'upper'},workdir={scratch / 'work'}"
            failure = mounted("-t", "overlay", "-o", parts, "pagecast-slow", place)
            if failure:
                raise Unavailable(failure)
            try:
                yield place
            finally:
                subprocess.run(["umount", "--lazy", str(place)], check=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
