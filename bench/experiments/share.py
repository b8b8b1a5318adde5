# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of a memory limit holds the program's own pages: two arrays of twice the limit, swept and stored to. Their pages
in memory are counted from outside every 100 ms, from the first eviction on; the median counts. What takes the rest is said by
kind."""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from harness.asked import Failed
from harness.building import Source, compile_once
from harness.contenders import ROOT
from harness.experiment import exit_status
from harness.limits import MemoryGroup, version
from harness.markdown import table
from harness.report import Screen, parse_size, provenance, write_json

PROGRAM = Source("share", ROOT / "apps" / "share" / "share.c")
EVERY_S = 0.1
MULTIPLE = 2  # of the limit: the data
WANTED = ((256 << 20, 0.97), (64 << 20, 0.94), (0, 0.90))  # at limits of so much and more
KINDS = {"free": "free", "kernel": "the kernel's for it", "page_cache": "page cache", "tables": "tables",
         "other": "staging and other"}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", default="32M,64M,256M,1G", help="of the memory control group, with commas between")
    parser.add_argument("--sweeps", type=int, default=6)
    parser.add_argument("--random", action="store_true", help="words in no order, instead of sweeps")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--work", type=Path, help="directory on a disk; default BUILD/share")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "share.json")
    options = parser.parse_args()
    options.work = (options.work or options.build / "share").resolve()
    return options


def numbers(path: Path) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in path.read_text().splitlines())}


def mappings(pid: int) -> Iterator[tuple[int, int, str, int]]:
    """Begin, end, what is mapped, and bytes in memory."""
    begin = end = 0
    name = ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            begin, end = (int(w, 16) for w in words[0].split("-"))
            name = " ".join(words[5:])
        elif words[0] == "Rss:":
            yield begin, end, name, int(words[1]) << 10


def look(pid: int, arrays: list[tuple[int, int]], group: MemoryGroup) -> dict[str, int]:
    """Bytes by kind, now. Tables are in mappings of more than a gigabyte."""
    out = dict.fromkeys(("program", *KINDS), 0)
    for begin, end, name, bytes_in_memory in mappings(pid):
        if any(begin < b and end > a for a, b in arrays):
            out["program"] += bytes_in_memory
        elif not name and end - begin > 1 << 30:
            out["tables"] += bytes_in_memory
    stat = numbers(group.path / "memory.stat")
    if version() == 1:
        used = int((group.path / "memory.usage_in_bytes").read_text())
        out["kernel"] = int((group.path / "memory.kmem.usage_in_bytes").read_text())
        out["page_cache"], anonymous = stat["cache"], stat["rss"]
    else:
        used = int((group.path / "memory.current").read_text())
        out["kernel"], out["page_cache"], anonymous = stat["kernel"], stat["file"], stat["anon"]
    out["free"] = group.limit - used
    out["other"] = max(0, anonymous - out["program"] - out["tables"])
    return out


def run(limit: int, executable: Path, options: argparse.Namespace) -> list[dict[str, int]]:
    samples = []
    command = [executable, "--memory-size", str(MULTIPLE * limit), "--sweeps", str(options.sweeps), *(["--random", "1"] if options.random else [])]
    with MemoryGroup(limit, swap=False) as group:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PAGECAST_BACKING": str(options.work)},
                                   preexec_fn=group.join)
        try:
            words = process.stdout.readline().split()
            size = int(words[3])
            arrays = [(int(w, 16), int(w, 16) + size) for w in words[1:3]]
            process.stdout.readline()  # filled: what did not fit has been evicted
            while process.poll() is None:
                time.sleep(EVERY_S)
                try:
                    sample = look(process.pid, arrays, group)
                except (OSError, ValueError, IndexError):
                    break  # it has just ended
                if sample["program"]:
                    samples.append(sample)
            if process.wait() != 0:
                raise Failed(f"at {limit >> 20} MiB the program ended with {process.returncode}")
        finally:
            process.kill()
            process.wait()
    if not samples:
        raise Failed(f"at {limit >> 20} MiB it was over before the first sample; use more --sweeps")
    return samples


def wanted(limit: int) -> float:
    return next(share for least, share in WANTED if limit >= least)


def row(entry: dict) -> list[str]:
    limit, middle = entry["limit_bytes"], entry["median"]
    share = middle["program"] / limit
    met = "met" if share >= wanted(limit) else "**missed**"
    return [f"{limit >> 20} MiB", f"{share:.1%}", f"{wanted(limit):.0%}: {met}", *(f"{middle[k] / 2**20:.2f}" for k in KINDS)]


def main() -> int:
    options, screen = parse_arguments(), Screen(sys.stderr)
    options.work.mkdir(parents=True, exist_ok=True)
    executable = options.work / "share"
    compile_once(PROGRAM, "pagecast", options.build, executable)
    entries = []
    for limit in (parse_size(word) for word in options.limits.split(",")):
        screen.say(f"{limit >> 20} MiB")
        samples = run(limit, executable, options)
        entries.append({"limit_bytes": limit, "samples": samples, "median": {k: median(s[k] for s in samples) for k in samples[0]}})
    write_json(options.json, provenance(kind="share", limits=entries))
    print(table(["limit", "the program's", "wanted", *(f"{name}, MiB" for name in KINDS.values())], [row(e) for e in entries]))
    return 0


if __name__ == "__main__":
    sys.exit(exit_status("share", main))
