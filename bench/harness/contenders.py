# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that are measured: where their sources are, how much data they get, and the least I/O they need."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from harness import traffic
from harness.least_io import Work

ROOT = Path(__file__).resolve().parents[2]
MAX_KEYS = 256 << 20  # bytes of key input; BUK starts over at the end of a shorter file


@dataclass(frozen=True)
class Program:
    """`name` is that of its directory under apps/ and of its source there; a variant in another language is called
    by the name of its file, such as cgm.cpp."""
    name: str
    multiple: float  # of the limit: how much data; the papers' sizes
    work: Callable[[int], Work]  # of the bytes of data
    options: tuple[str, ...] = ()
    takes_keys: bool = False

    @property
    def source(self) -> Path:
        stem, dot, suffix = self.name.partition(".")
        return ROOT / "apps" / stem / f"{stem}.{suffix if dot else 'c'}"

    def data_bytes(self, limit: int) -> int:
        return int(self.multiple * limit)

    def arguments(self, total: int, keys: Path | str) -> list[str]:
        """For `total` bytes of data. `keys` is BUK's input: a file, or the word random."""
        return ["--memory-size", str(total), *self.options, *(["--keys", str(keys)] if self.takes_keys else [])]


def iterated(name: str, multiple: float, iterations: int, work: Callable[..., Work], *options: str) -> Program:
    return Program(name, multiple, partial(work, iterations=iterations), (*options, "--iterations", str(iterations)))


NINE = (
    Program("buk", 2.75, traffic.buk_work, takes_keys=True),
    iterated("matvec", 5.39, 3, traffic.matvec_work, "--cols", str(traffic.COLUMNS)),
    iterated("embar", 1.79, 3, traffic.embar_work),
    iterated("cgm", 2.75, 10, traffic.cgm_work),
    iterated("mgrid", 6.0, 3, traffic.mgrid_work),
    iterated("fftpde", 3.13, 3, traffic.fftpde_work),
    iterated("applu", 2.92, 5, traffic.applu_work),
    iterated("appsp", 2.84, 2, traffic.appsp_work),
    iterated("appbt", 2.52, 3, traffic.appbt_work),
)
# The same programs in other languages: their sizes and sweeps are those of the C source.
VARIANTS = tuple(v for p in NINE for v in (replace(p, name=p.name + suffix) for suffix in (".cpp", ".f90")) if v.source.exists())
PROGRAMS = {p.name: p for p in NINE + VARIANTS}


def chosen_programs(text: str) -> list[Program]:
    """NAME or NAME:MULTIPLE of the limit, with commas between. Raises ValueError with a sentence."""
    out = []
    for word in text.split(","):
        name, _, multiple = word.strip().partition(":")
        if name not in PROGRAMS:
            raise ValueError(f"there is no program '{name}'; there are {', '.join(PROGRAMS)}")
        out.append(replace(PROGRAMS[name], multiple=_multiple(multiple)) if multiple else PROGRAMS[name])
    return out


def _multiple(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1000:
        raise ValueError(f"'{text}' is not a multiple of the limit; write buk:2.75")
    return value


def prepare_keys_for(programs: list[Program], limit: int, file: Path, say):
    """As many as those of the programs need that take keys: perhaps none."""
    wanted = max((traffic.buk_keys(p.data_bytes(limit)) + 2 for p in programs if p.takes_keys), default=0)
    if wanted:
        prepare_keys(file, min(wanted, MAX_KEYS), say)


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
