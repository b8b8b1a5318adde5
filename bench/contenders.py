# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that are measured: how they are built, what they are given, and the least I/O they need."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INT = 4
COLUMNS = 1_000_000  # of MATVEC's matrix, as in the paper
SWEEPS = 3
KEY_TABLE = (1 << 20) * INT  # BUK's table of counts


@dataclass
class Traffic:
    """Bytes that any system with that much memory must move."""
    read: int
    written: int

    def seconds(self, read_rate: float, write_rate: float) -> float:
        """The disk does one thing at a time: reads and writes share its time."""
        return self.read / read_rate + self.written / write_rate


def _beyond(needed: int, memory: int) -> int:
    return max(0, needed - memory)


def buk_keys(total: int) -> int:
    """The same division of the memory as buk's own."""
    return (total - KEY_TABLE) // (3 * INT)


def buk_traffic(total: int, memory: int) -> Traffic:
    """Let s be the bytes of one of the arrays key, rank, key2. When a phase begins, `memory` bytes at
    most of what it is going to read can be there; the rest must be read during it:
      count: key; rank: key; copy: key and rank; order check: key2; checksum: key2 and rank.
    Written: when the copy begins, 2s - memory of key and rank are on disk; when the checksum begins,
    the same of key2 and rank, and s - memory of key2 when its order is checked. All of rank may serve
    both, so at least (2s - memory) + (s - memory). The key file itself is read once, cold."""
    count = buk_keys(total)
    s = count * INT
    read = 3 * _beyond(s, memory) + 2 * _beyond(2 * s, memory) + count
    return Traffic(read, _beyond(2 * s, memory) + _beyond(s, memory))


def matvec_traffic(total: int, memory: int) -> Traffic:
    """Every sweep uses all of a and b, of which `memory` bytes at most are there when it begins. What is
    not there when the first begins was written by the fill."""
    rows = total // INT // COLUMNS
    beyond = _beyond(rows * COLUMNS * INT + COLUMNS * INT, memory)
    return Traffic(SWEEPS * beyond, beyond)


@dataclass
class Program:
    name: str
    multiple: float  # of the limit: how much data
    arguments: Callable[[int, Path], list[str]]  # of the bytes of data and the file of keys
    traffic: Callable[[int, int], Traffic]  # of the bytes of data and the memory

    @property
    def source(self) -> Path:
        return ROOT / "apps" / self.name / f"{self.name}.c"


PROGRAMS = {
    "buk": Program("buk", 2.75, lambda total, keys: ["--memory-size", str(total), "--keys", str(keys)], buk_traffic),
    "matvec": Program("matvec", 5.39, lambda total, keys: ["--memory-size", str(total), "--cols", str(COLUMNS),
                                                           "--iterations", str(SWEEPS)], matvec_traffic),
}


def compile_both(program: Program, build: Path, into: Path) -> dict[str, Path]:
    """The same source at the same level, by plain clang and by pagecast-cc around the same clang."""
    into.mkdir(parents=True, exist_ok=True)
    out = {}
    for kind, compiler in (("plain", "clang-19"), ("pagecast", str(build / "bin" / "pagecast-cc"))):
        out[kind] = into / f"{program.name}-{kind}"
        subprocess.run([compiler, "-std=c11", "-O3", program.source, "-o", out[kind]], check=True)
    return out


def code_bytes(executable: Path) -> int:
    """Machine code: all sections that can be executed."""
    listing = subprocess.run(["readelf", "-SW", executable], check=True, capture_output=True, text=True).stdout
    total = 0
    for line in listing.splitlines():
        fields = line.replace("[ ", "[").split()  # [Nr] name type address offset size entry flags ...
        if len(fields) > 7 and fields[0].startswith("[") and "X" in fields[7]:
            total += int(fields[5], 16)
    return total


def prepare_keys(file: Path, wanted: int, say, source: str = "/usr"):
    """Real data for BUK: the bytes of the regular files under /usr, in the order of their names."""
    if file.exists() and file.stat().st_size == wanted:
        return
    say(f"collecting {wanted >> 20} MiB of keys from the files under {source}")
    left = wanted
    with file.open("wb") as out:
        for directory, subdirectories, names in os.walk(source):
            subdirectories.sort()
            for name in sorted(names):
                left -= _append(out, Path(directory) / name, left)
                if left == 0:
                    return


def _append(out, path: Path, limit: int) -> int:
    try:
        if path.is_symlink() or not path.is_file():
            return 0
        data = path.read_bytes()[:limit]
    except OSError:  # unreadable files are no keys
        return 0
    out.write(data)
    return len(data)
