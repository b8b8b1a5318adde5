# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The disk: how fast it is, and how to forget what is cached of it."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from harness import memory


@dataclass
class Rates:
    read: float  # bytes a second
    write: float  # bytes a second
    random: float  # reads of 4 KiB a second


def nothing_is_timed() -> bool:
    """As in tests."""
    return "HARNESS_WARM" in os.environ


def measure(pagecast: Path, directory: Path, seconds: float) -> Rates:
    """Of the disk that holds `directory`, by pagecast doctor; as short as can be where nothing is timed."""
    if nothing_is_timed():
        seconds = 0.1
    done = subprocess.run([pagecast, "doctor", "--json", "--disk-seconds", str(seconds)], capture_output=True, text=True,
                          env={**os.environ, "PAGECAST_BACKING": str(directory)})
    try:
        disk = json.loads(done.stdout)["disk"]
        return Rates(disk["read_bytes_per_s"], disk["write_bytes_per_s"], disk["random_reads_per_s"])
    except (ValueError, KeyError, TypeError) as error:
        raise RuntimeError(f"the disk of {directory} could not be measured; see {pagecast} doctor") from error


def typical(samples: list[Rates]) -> Rates:
    """The median of each rate."""
    return Rates(*(median(getattr(s, name) for s in samples) for name in ("read", "write", "random")))


def forget():
    """Writes back and drops what is cached of all files: the next run starts cold, with memory at hand. Where nothing is timed it
    leaves the machine as it is."""
    if nothing_is_timed():
        return
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")
    memory.bring()
