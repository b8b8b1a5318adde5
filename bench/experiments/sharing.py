# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of several ranks against one I/O node with a small storage cache and a slow disk: who should prefetch, measured.

The programs of apps/shared map their data sets by `pagecast run --map`; the node is `pagecast serve` with a latency below its cache,
one request at a time. All schemes in turns, outputs compared. Prints beside each what a simulation of the same run says, which takes its
entries from a profile on a local file. The JSON is written after each run; cells that are in it already stay there.

    python bench sharing --only hf              one program: minutes
    python bench sharing --only hf --continue   the runs that the JSON lacks, after an interruption
    python bench sharing --quick                all, one run of each scheme
    python bench sharing --only vis --ranks 4   another cell
"""

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import building, interruption
from harness.asked import Failed, chosen
from harness.contenders import ROOT
from harness.experiment import exit_status
from harness.markdown import spread, table
from harness.report import Screen, build_sha256, parse_size, provenance, write_json

LEAST_MULTIPLE = 40  # data over cache; the paper's were 75 to 110
CHECKSUM = r"^checksum: (\S+)$"
MEMORY = "16M"       # of each rank: the least that the runtime takes
FOR_PAGES = "8M"     # of that, what is left for pages of the export by its helper and what is being written


@dataclass(frozen=True)
class Scheme:
    """Who prefetches: the runtime's options of every rank, and what `--far` gets. Another scheme is another line."""
    simulated: str  # its name in the simulation
    far: str = "none"
    environment: dict = field(default_factory=dict)
    reserved: int = 0       # ranks fewer, in whose place helpers run
    profiled: bool = False  # it goes by a profile of a smaller input
    is_usual: bool = True   # it is measured unless --only names others

    @property
    def has_helper(self) -> bool:
        return self.far not in ("none", "independent")


SCHEMES = {
    "none": Scheme("none", environment={"PAGECAST_HINTS": "0", "PAGECAST_HISTORY": "0"}),
    "independent": Scheme("independent", "independent"),
    "reserved": Scheme("1 reserved", "reserved", reserved=1),
    "reserved-2": Scheme("2 reserved", "reserved,2", reserved=2, is_usual=False),
    "reserved-3": Scheme("3 reserved", "reserved,3", reserved=3, is_usual=False),
    "adaptive": Scheme("adaptive", "adaptive", profiled=True),
    "adaptive-own": Scheme("adaptive", "adaptive,place=own", profiled=True, is_usual=False),
    "live": Scheme("live", "live"),
    "live-own": Scheme("live", "live,place=own", is_usual=False),
}


@dataclass(frozen=True)
class Program:
    size: str             # so that each rank reads several times what its memory holds
    options: tuple[str, ...] = ()
    for_pages: str = FOR_PAGES  # of a rank's memory, less what it has large data in beside the data set
    writes: bool = False  # a data set then serves one run


PROGRAMS = {
    "hf": Program("160M", ("--iterations", "2")),
    "vis": Program("64M", ("--views", "1")),
    "cholesky": Program("64M", ("--block", "256"), for_pages="2M", writes=True),  # a slab of the matrix
    "mgrid": Program("64M", ("--iterations", "1"), writes=True),
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "sharing.json")
    parser.add_argument("--work", type=Path, help="directory on a disk for data and programs; default BUILD/sharing")
    parser.add_argument("--quick", action="store_true", help="one run")
    parser.add_argument("--only", metavar="NAMES", help=f"of {', '.join([*PROGRAMS, *SCHEMES])}, with commas between")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--size", help="of each data set; default: " + ", ".join(f"{n} {p.size}" for n, p in PROGRAMS.items()))
    parser.add_argument("--cache", help=f"of the I/O node; default: data over {LEAST_MULTIPLE}")
    parser.add_argument("--block", default="32K", help="of the cache")
    parser.add_argument("--latency", type=float, default=1, help="of the disk, milliseconds")
    parser.add_argument("--rate", default="480M", help="of the disk, bytes in a second: at 1 ms a block of 32K takes what one of 64K takes of 10 ms at 96 MB/s")
    parser.add_argument("--continue", action="store_true", dest="goes_on", help="make only the runs that the JSON lacks; those in it must be of this build")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for a run")
    options = parser.parse_args()
    if options.quick:
        options.runs = 1
    if options.runs < 1 or options.ranks < 1:
        raise Failed("--runs and --ranks: at least 1")
    names = chosen(options.only, [*PROGRAMS, *SCHEMES], "--only") if options.only else []
    options.programs = [n for n in names if n in PROGRAMS] or list(PROGRAMS)
    options.schemes = [n for n in names if n in SCHEMES] or [n for n, s in SCHEMES.items() if s.is_usual]
    for name in options.programs:
        if options.cache:
            check_multiple(options.cache, size_of(name, options))
        parse_size(size_of(name, options))
    options.build = options.build.resolve()
    options.work = (options.work or options.build / "sharing").resolve()
    return options


def size_of(name: str, options) -> str:
    return options.size or PROGRAMS[name].size


def check_multiple(cache: str, data: str):
    if parse_size(data) < LEAST_MULTIPLE * parse_size(cache):
        raise Failed(f"--cache {cache}: data of {data} are less than {LEAST_MULTIPLE} times that")


def cache_for(name: str, options) -> str:
    """Of the node, for the data set that is there: programs round sizes down to what their shapes allow."""
    data, block = (options.work / "data" / name).stat().st_size, parse_size(options.block)
    if options.cache:
        check_multiple(options.cache, str(data))
    return options.cache or f"{data // LEAST_MULTIPLE // block * block // 1024}K"


def mpi(name: str) -> str:
    """MPICH's, where a machine has several."""
    found = shutil.which(f"{name}.mpich") or shutil.which(name)
    if not found:
        raise Failed(f"{name} is missing; apt install mpich libmpich-dev")
    return found


def source(name: str) -> building.Source:
    shown = shlex.split(subprocess.run([mpi("mpicc"), "-show"], capture_output=True, text=True, check=True).stdout)
    return building.Source(name, ROOT / "apps" / "shared" / f"{name}.c",
                           ("-D_GNU_SOURCE", *(flag for flag in shown if flag.startswith(("-I", "-L", "-l")))))


def compiled(name: str, options) -> dict:
    """Both executables, what compiling takes, and how much code comes out."""
    of = source(name)
    programs = building.compile_both(of, options.build, options.work)
    times = building.compile_times(of, options.build, options.work, options.runs)
    return {kind: {"path": str(path), "code_bytes": building.code_bytes(path), "compile_s": [t["cpu_s"] for t in times[kind]]}
            for kind, path in programs.items()}


@contextlib.contextmanager
def started(command: list, **more):
    """A process in a session of its own, of which nothing is left behind."""
    with interruption.deferred():
        process = subprocess.Popen([str(c) for c in command], start_new_session=True, text=True, **more)
    try:
        interruption.check()
        yield process
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextlib.contextmanager
def serving(options, directory: Path, cache: str, counts: list):
    """An I/O node; at the end `counts` gets what its clients did."""
    command = [options.build / "bin" / "pagecast", "serve", directory, "--writable", "--json", "--cache", cache, "--block", options.block,
               "--latency", options.latency, "--rate", options.rate]
    with started(command, stdout=subprocess.PIPE) as server:
        line = server.stdout.readline()
        if not line:
            raise Failed("the I/O node did not start; it says why above")
        yield json.loads(line)["uri"].partition("?socket=")[2]
        server.send_signal(signal.SIGINT)
        counts.append(json.loads(server.communicate(timeout=60)[0]))


def profile_file(name: str, options) -> Path:
    return options.work / f"{name}.json"


def report_file(options) -> Path:
    return options.work / "job.json"


def what_the_helper_did(options) -> dict:
    """Of the job that has just ended: its helper ends after it."""
    until = time.monotonic() + 10
    while not report_file(options).exists() and time.monotonic() < until:
        time.sleep(0.01)
    if not report_file(options).exists():
        return {}
    report = json.loads(report_file(options).read_text())
    report_file(options).unlink()
    total = lambda what: sum(m[what] for m in report["members"])  # noqa: E731
    return {**{k: report[k] for k in ("asked_blocks", "left_blocks", "teams", "given_up", "served", "nests_opened")},
            "meetings": total("meetings"), "met_s": total("met_s")}


def profiled_run(name: str, programs: dict, options, path: Path, data: Path, size: "int | str", ranks: int, *more):
    """A profile of the program on a local file, which may be small."""
    ends = ["--data", data, "--size", size, *PROGRAMS[name].options]
    for command in ([mpi("mpirun"), "-n", 2, programs["plain"]["path"], *ends, "--make"],
                    [options.build / "bin" / "pagecast", "profile", *more, "-o", path, "--", mpi("mpirun"), "-n", ranks,
                     programs["pagecast"]["path"], *ends, "--made"]):
        with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "PAGECAST_LARGE": "64K"}) as run:
            _, errors = run.communicate(timeout=options.timeout)
        if run.returncode != 0:
            raise Failed(f"{name}: no profile could be taken: {errors[-300:]}")


def make_profile(name: str, programs: dict, options):
    """Of the program on an eighth of the data, with as many ranks."""
    small = options.work / "data" / f"{name}.small"
    profiled_run(name, programs, options, profile_file(name, options), small, max(parse_size(size_of(name, options)) // 8, 1 << 20), options.ranks)
    small.unlink()


def simulate(name: str, programs: dict, options, ranks: int) -> dict:
    """What the simulation says of a run with so many ranks, under each scheme by its name there."""
    entries = options.work / f"{name}.entries.json"
    profiled_run(name, programs, options, entries, options.work / "data" / name, size_of(name, options), ranks, "--entries")
    command = [options.build / "bin" / "pagecast-sharing-sim", "--run", entries, "--cache", cache_for(name, options), "--block", options.block, "--memory",
               PROGRAMS[name].for_pages, "--latency", round(1000 * options.latency), "--rate", options.rate, "--cores", len(os.sched_getaffinity(0))]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    entries.unlink()
    if done.returncode != 0:
        raise Failed(f"{name}: the run could not be simulated: {done.stderr[-300:]}")
    return json.loads(done.stdout)["schemes"]


def simulations(name: str, programs: dict, options) -> dict:
    """Of each scheme, with as many ranks as it has; none without the simulator."""
    if not (options.build / "bin" / "pagecast-sharing-sim").exists():
        return {}
    ranks = {s: max(options.ranks - SCHEMES[s].reserved, 1) for s in options.schemes}
    by_ranks = {n: simulate(name, programs, options, n) for n in sorted(set(ranks.values()))}
    return {s: by_ranks[ranks[s]][SCHEMES[s].simulated] for s in options.schemes}


def command_of(name: str, scheme: Scheme, programs: dict, socket: str, options) -> list:
    """Each rank maps the data set in a name of its own, under which the node counts it."""
    path, pagecast = options.work / "mapped" / name, options.build / "bin" / "pagecast"
    far = scheme.far + (f",profile={profile_file(name, options)}" if scheme.profiled else "")
    far += f",report={report_file(options)}" if scheme.has_helper else ""
    rank = 'rank=$PMI_RANK; exec "$0" run --memory "$1" --map "$2=nbd+unix:///$3%3Fclient=rank$rank?socket=$4" -- "${@:5}"'
    return [pagecast, "run", "--far", far, "--", mpi("mpirun"), "-n", max(options.ranks - scheme.reserved, 1), "bash", "-c", rank, pagecast,
            MEMORY, path, name, socket, programs["pagecast"]["path"], "--data", path, "--size", size_of(name, options), "--made", *PROGRAMS[name].options]


def run_once(name: str, scheme: str, programs: dict, options) -> dict:
    counts: list[dict] = []
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
    before = os.times()
    with serving(options, options.work / "data", cache_for(name, options), counts) as socket:
        with started(command_of(name, SCHEMES[scheme], programs, socket, options), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     env={**clean, **SCHEMES[scheme].environment}) as job:
            try:
                output, errors = job.communicate(timeout=options.timeout)
            except subprocess.TimeoutExpired:
                return {"status": "timeout", "counts": None}
    after = os.times()
    sample = {"status": "ok" if job.returncode == 0 else f"exit status {job.returncode}", "errors": errors[-1000:],
              "processor_s": after.children_user + after.children_system - before.children_user - before.children_system,
              "disk": counts[0]["disk"], "counts": counts[0]["all"]}
    if SCHEMES[scheme].has_helper:
        sample["helper"] = what_the_helper_did(options)
    for what, pattern in (("wall_s", r"^time: (\S+) s$"), ("checksum", CHECKSUM)):
        found = re.search(pattern, output, re.MULTILINE)
        sample[what] = found and (float(found[1]) if what == "wall_s" else found[1])
    return sample


def run_plainly(name: str, programs: dict, options, how: str) -> str:
    """What the plain program prints that makes the data set, or (`--made`) works on the local file."""
    command = [mpi("mpirun"), "-n", 2, programs["plain"]["path"], "--data", options.work / "data" / name, "--size",
               size_of(name, options), *PROGRAMS[name].options, how]
    with started(command, stdout=subprocess.PIPE) as run:
        output, _ = run.communicate(timeout=options.timeout)
    if run.returncode != 0:
        raise Failed(f"{name}: the plain program failed on the local file; it says why above")
    return output


def expected(name: str, programs: dict, options) -> str:
    """The checksum that a run on a fresh data set must have."""
    run_plainly(name, programs, options, "--make")
    found = re.search(CHECKSUM, run_plainly(name, programs, options, "--made"), re.MULTILINE)
    if not found:
        raise Failed(f"{name}: the plain program prints no checksum")
    return found[1]


class Results:
    """The cells of the JSON, which is written anew after each run: an interruption loses one."""

    def __init__(self, options):
        self.options = options
        self.build_sha256 = build_sha256(options.build)
        self.cells: list[dict] = json.loads(options.json.read_text())["cells"] if options.json.exists() else []
        self.fresh: list[dict] = []

    def cell_for(self, cell: dict) -> dict:
        """The one that is there, where it is continued; else this one in its place."""
        before = next((c for c in self.cells if key(c) == key(cell)), None)
        goes_on = self.options.goes_on and before and before.get("build_sha256") == self.build_sha256 and before["expected"] == cell["expected"]
        found = before if goes_on else {**cell, "build_sha256": self.build_sha256, "runs": []}
        self.fresh.append(found)
        return found

    def add(self, cell: dict, sample: dict):
        cell["runs"].append(sample)
        self.cells = [c for c in self.cells if key(c) != key(cell)] + [cell]
        write_json(self.options.json, provenance(kind="sharing", build_sha256=self.build_sha256, cells=self.cells))


def measure(name: str, options, screen: Screen, results: Results):
    """A cell for each scheme, in turns."""
    programs = compiled(name, options)
    right = expected(name, programs, options)
    if any(SCHEMES[s].profiled for s in options.schemes):
        make_profile(name, programs, options)
    foretold = simulations(name, programs, options)
    cells = {s: results.cell_for({"program": name, "scheme": s, "ranks": options.ranks, "cache": cache_for(name, options), "block": options.block,
                                  "latency": options.latency, "rate": options.rate, "size": size_of(name, options), "build": programs, "expected": right, "simulated": foretold.get(s)})
             for s in options.schemes}
    for turn in range(options.runs):
        for scheme in options.schemes:
            interruption.check()
            screen.step(f"{name}, {scheme}, run {turn + 1} of {options.runs}")
            if len(cells[scheme]["runs"]) > turn:
                continue
            if PROGRAMS[name].writes:
                run_plainly(name, programs, options, "--make")
            sample = run_once(name, scheme, programs, options)
            sample["is_right"] = sample["status"] == "ok" and sample["checksum"] == right
            results.add(cells[scheme], sample)
    (options.work / "data" / name).unlink()


def key(cell: dict) -> tuple:
    return tuple(str(cell.get(k)) for k in ("program", "scheme", "ranks", "cache", "block", "latency", "rate", "size"))


def times(cell: dict) -> list[float]:
    return [r["wall_s"] for r in cell["runs"] if r["is_right"]]


def saved(cell: dict, over: "dict | None") -> "float | None":
    """Per cent of the time."""
    return 100 * (1 - statistics.median(times(cell)) / statistics.median(times(over))) if over and times(cell) and times(over) else None


def foretold(cell: dict) -> list[str]:
    """What the simulation says, in seconds, and how far that is from the median."""
    if not cell.get("simulated"):
        return ["–", "–"]
    seconds = cell["simulated"]["micros"] / 1e6
    return [f"{seconds:.2f}", f"{100 * (seconds / statistics.median(times(cell)) - 1):+.0f} %" if times(cell) else "–"]


def sharing_markdown(cells: list[dict]) -> str:
    show = lambda value: "–" if value is None else f"{value:.1f} %"  # noqa: E731
    rows = []
    for cell in cells:
        none = next((c for c in cells if key(c) == key({**cell, "scheme": "none"})), None)
        right = [r for r in cell["runs"] if r["is_right"]]
        total = lambda what: statistics.median(r["counts"][what] for r in right) if right else 0  # noqa: E731
        harmful = f"{total('harmful_intra') + total('harmful_inter'):.0f} of {total('prefetches'):.0f}" if right else "–"
        of_disk = lambda what: f"{statistics.median(r['disk'][what] for r in right):.0f}" if right else "–"  # noqa: E731
        waits = f"{statistics.median(r['helper']['met_s'] for r in right):.1f}" if right and all(r.get("helper") for r in right) else "–"
        processors = f"{statistics.median(r['processor_s'] for r in right):.1f}" if right else "–"
        code = cell["build"]["pagecast"]["code_bytes"] / cell["build"]["plain"]["code_bytes"] - 1
        compiling = (statistics.median(cell["build"]["pagecast"]["compile_s"]) / statistics.median(cell["build"]["plain"]["compile_s"]) - 1)
        rows.append([cell["program"], cell["scheme"], str(cell["ranks"]), spread(times(cell)) if right else "**wrong results**",
                     show(saved(cell, none)), *foretold(cell), of_disk("reads"),
                     of_disk("writes"), harmful, waits, processors,
                     f"{100 * compiling:.0f} %", f"{100 * code:.0f} %"])
    return table(["program", "scheme", "ranks", "s, median (spread)", "over none", "simulated, s", "off by", "disk reads", "writes", "harmful", "meetings, s",
                  "processors, s", "compile time", "code"], rows)


def figure(cells: list[dict], json_file: Path) -> "Path | None":
    from harness.plots import plt, save  # takes a second
    shown = [c for c in cells if times(c)]
    if not shown:
        return None
    drawing, axes = plt.subplots(layout="constrained")
    names, schemes = list(dict.fromkeys(c["program"] for c in shown)), list(dict.fromkeys(c["scheme"] for c in shown))
    for i, scheme in enumerate(schemes):
        of = {c["program"]: statistics.median(times(c)) for c in shown if c["scheme"] == scheme}
        axes.bar([names.index(n) + 0.8 * i / len(schemes) for n in of], list(of.values()), 0.8 / len(schemes), label=scheme)
    axes.set_xticks([x + 0.4 - 0.4 / len(schemes) for x in range(len(names))], names)
    axes.set(ylabel=f"seconds, {shown[0]['ranks']} ranks, one I/O node")
    axes.legend()
    return save(drawing, json_file, "schemes")


def work() -> int:
    options, screen = parse_arguments(), Screen(sys.stderr)
    if not (options.build / "bin" / "pagecast").exists():
        raise Failed(f"{options.build} has no pagecast; run make build")
    shutil.rmtree(options.work, ignore_errors=True)
    (options.work / "data").mkdir(parents=True)
    (options.work / "mapped").mkdir()
    results = Results(options)
    try:
        with screen.steps(len(options.programs) * len(options.schemes) * options.runs):
            for name in options.programs:
                measure(name, options, screen, results)
    finally:
        shutil.rmtree(options.work, ignore_errors=True)
    fresh = results.fresh
    print(sharing_markdown(fresh))
    drawn = figure(fresh, options.json)
    screen.say(f"sharing: {options.json}" + (f" and {drawn}" if drawn else ""))
    wrong = [c for c in fresh if any(not r["is_right"] for r in c["runs"])]
    for cell in wrong:
        ended = {f"{r['status']}: {(r.get('errors') or '').strip()[-200:]}" for r in cell["runs"] if not r["is_right"]}
        screen.say(f"sharing: {cell['program']}, {cell['scheme']}: results differ from the plain program's, or it failed ({'; '.join(ended)})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(exit_status("sharing", work))
