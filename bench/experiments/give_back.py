# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How soon a paged program gives memory back: a neighbour in the same memory control group takes 64 MiB, each MiB
as soon as it is free, a few times over. Milliseconds for each 64 MiB, beside those of a neighbour that is alone."""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from harness import runs
from harness.contenders import ROOT
from harness.limits import MemoryGroup, Unavailable, version
from harness.report import parse_size, provenance, write_json

MIB = 1 << 20
PROGRAM = ROOT / "tests" / "system" / "programs" / "nests" / "sweeps.c"
# What the paged program does meanwhile, and the sweeps before.
CASES = {"idle, pages clean": ("wr", ""), "idle, pages dirty": ("w", ""), "reading": ("w", "r"), "storing": ("w", "w")}
# Arguments: steps, MiB of each, files of the limit and of the usage. Leaves 3 MiB free, since the kernel kills when there are none.
NEIGHBOUR = """
import sys, time
steps, mib = int(sys.argv[1]), int(sys.argv[2])
limit, usage = open(sys.argv[3]), open(sys.argv[4])
def free():
    limit.seek(0), usage.seek(0)
    return int(limit.read()) - int(usage.read())
held = []
for _ in range(steps):
    time.sleep(0.5)
    start = time.monotonic()
    for _ in range(mib):
        while free() < 4 << 20:
            time.sleep(0.0005)
        held.append(b"x" * (1 << 20))
    print((time.monotonic() - start) * 1000, flush=True)
"""


def neighbour_ms(group: MemoryGroup, steps: int, mib: int) -> list[float]:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if version() == 1 else ("memory.max", "memory.current")
    done = runs.run([sys.executable, "-c", NEIGHBOUR, steps, mib, *(group.path / n for n in names)], group, timeout=60)
    if not done.ok:
        raise RuntimeError(f"the neighbour: {done.status} {done.errors.strip()[-300:]}")
    return [float(line) for line in done.output.split()]


@contextlib.contextmanager
def paged(program: Path, group: MemoryGroup, backing: Path, stats: Path, data: int, before: str, during: str):
    """The program has done the sweeps `before`; `during`, again and again, is under way."""
    process = subprocess.Popen([program, str(data // MIB)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={"PAGECAST_STATS": str(stats), "PAGECAST_BACKING": str(backing)}, preexec_fn=group.join)
    try:
        process.stdin.write("".join(f"{s}\n" for s in before))
        process.stdin.flush()
        for _ in range(1 + len(before)):
            process.stdout.readline()
        if during:
            process.stdin.write(f"{during}\n" * 200)
            process.stdin.flush()
        time.sleep(0.2)
        yield
        if during:
            process.kill()
        process.stdin.close()
        process.stdout.read()
    except BrokenPipeError:
        pass
    finally:
        process.kill()
        process.wait()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--limit", default="512M", help="of the memory control group")
    parser.add_argument("--step", type=int, default=64, help="MiB that the neighbour takes at once")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--backing", type=Path, default=Path("/var/tmp"), help="a directory on a disk")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "give_back.json")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    limit = parse_size(arguments.limit)
    samples: dict[str, list[float]] = {}
    figures: dict[str, dict | None] = {}
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "sweeps"
        built = runs.run([arguments.build / "bin" / "pagecast-cc", "-O3", PROGRAM, "-o", program])
        if not built.ok:
            print(built.errors, file=sys.stderr)
            return 1
        try:
            with MemoryGroup(limit, False) as group:
                samples["alone"] = neighbour_ms(group, arguments.steps, arguments.step)
            for case, (before, during) in CASES.items():
                stats = Path(directory) / "stats.json"
                with MemoryGroup(limit, False) as group, \
                        paged(program, group, arguments.backing, stats, 2 * limit, before, during):
                    samples[case] = neighbour_ms(group, arguments.steps, arguments.step)
                figures[case] = runs.read_stats(stats)
                stats.unlink(missing_ok=True)
        except (Unavailable, RuntimeError) as reason:
            print(f"give_back: {reason}", file=sys.stderr)
            return 1
    for case, times in samples.items():
        print(f"{case:20} {arguments.step} MiB in {' '.join(f'{t:.0f}' for t in times)} ms, median {median(times):.0f}")
    write_json(arguments.json, provenance(limit_bytes=limit, step_mib=arguments.step, samples=samples, stats=figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
