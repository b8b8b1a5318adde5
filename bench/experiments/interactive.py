# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The OSDI 2000 paper's interactive task beside out-of-core programs: response time and page faults against the time
that the task sleeps between touching its working set, for five versions: the original on swap, prefetching only,
releasing at once, releasing with a buffer, and the task alone. A sixth, the original in core with memory of its own, shows
what the task loses to shared processors and caches.

Task and program share one memory limit, with swap, as on one machine. The table, in Markdown, goes to standard output,
progress to standard error, the raw samples to a JSON file, figures like the paper's 10 a to c to SVG files beside it.
Table and figures can be made again from the JSON."""

import argparse
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

from harness import disk
from harness import interruption
from harness import runs
from harness.asked import Failed, chosen, parse
from harness.building import Source, compile_both, compile_once
from harness.contenders import NINE, ROOT, Program, chosen_programs, prepare_keys_for
from harness.experiment import main, result
from experiments.interactive_table import VERSIONS, interactive_markdown
from harness.limits import MemoryGroup, limit_refusal
from harness.report import Screen, parse_size, write_json
from harness.swap import others_in_use, swap_for
from harness.turns import Part, make, missing

RELEASES = {"prefetch": "none", "aggressive": "aggressive", "buffered": "buffered"}
PAPER_SHARE = 75  # the paper's task touches 1 MB of some 75
ALONE_S = 2.0  # at least so long alone: the first sweeps after a start are slower than those that follow
# A program's first run in a group is up to a tenth faster than those that follow, while the file system still frees what the
# last one wrote: with and without the task it is run as often, but for those that take long.
LEAST_RUNS, LONG_S = 3, 60.0
EXAMPLES = f"""\
versions: {', '.join(f'{n} ({w})' for n, w in VERSIONS.items())}
programs: {', '.join(p.name for p in NINE)}

examples:
  make interactive                                            nine programs, eight sleeps (root; several hours)
  make interactive INTERACTIVE_ARGS=--quick                   MATVEC, three sleeps, a limit of 64 MiB (three minutes)
  make interactive INTERACTIVE_ARGS='--programs matvec,buk --sleeps 0,1,5 --versions buffered,alone'
  make interactive INTERACTIVE_ARGS='--table results/interactive.json'     table and figures again, without measuring
  make interactive INTERACTIVE_ARGS='--continue results/interactive.json'  what it lacks, after an interruption

exit status: 0 measured; 1 an output differed or a run of ours failed; 2 it could not be measured; 130 interrupted"""


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(p.name for p in NINE), metavar="A,B", help="NAME or NAME:MULTIPLE of the limit")
    parser.add_argument("--versions", default=",".join(VERSIONS), metavar="A,B")
    parser.add_argument("--sleeps", default="0,0.5,1,2,3,5,7,10", metavar="S,S", help="seconds; default 0 to 10")
    parser.add_argument("--sweeps", type=int, default=5, help="least number of response times for each point; the program is run again "
                        "until there are as many; default 5")
    parser.add_argument("--runs", type=int, default=1, help="times that everything is done; default 1")
    parser.add_argument("--limit", default="256M", help="of memory for task and program together; default 256M")
    parser.add_argument("--working-set", metavar="SIZE", help="of the task; default the paper's share, a 75th of the limit")
    parser.add_argument("--memory", default="auto", help="pagecast run --memory; default: it finds out by itself")
    parser.add_argument("--quick", action="store_true", help="a look at the harness: matvec, sleeps of 0, 1 and 3 s, 64M, three sweeps")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS", help="a run that takes longer is given up; default 1800")
    options = parse(parser, "interactive", words, "keys, swap", "table and figures",
                    quick={"programs": "matvec", "sleeps": "0,1,3", "limit": "64M", "sweeps": 3})
    options.chosen = chosen_programs(options.programs)
    options.kinds = chosen(options.versions, VERSIONS, "--versions")
    options.sleep_times = [seconds_of(w) for w in options.sleeps.split(",")]
    options.set_bytes = parse_size(options.working_set) if options.working_set else options.limit_bytes // PAPER_SHARE
    if options.set_bytes > options.limit_bytes // 2:
        raise Failed(f"--working-set {options.working_set}: more than half of the limit leaves no room for the program")
    if options.sweeps < 1:
        raise Failed(f"--sweeps {options.sweeps}: at least one is needed")
    return options


def seconds_of(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        raise Failed(f"--sleeps: '{word}' is not a number of seconds")
    return value


class Task:
    """The interactive task in a group, from when its working set is made until the end of the block."""

    def __init__(self, executable: Path, bytes_: int, sleep: float, group: MemoryGroup):
        self._command = [str(executable), "--memory-size", str(bytes_), "--sleep", str(round(sleep * 1000))]
        self._group = group
        self._lines: list[str] = []  # are taken apart when nothing runs

    def __enter__(self) -> "Task":
        with interruption.deferred():
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                             preexec_fn=self._group.join)
        if self._process.stdout.readline() != "ready\n":
            self.__exit__()
            raise Failed("the interactive task ended before it had made its working set: the limit is too small")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        if hasattr(self, "_reader"):
            self._reader.join()
        self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
            self._lines.append(line)

    def sweeps(self) -> int:
        return len(self._lines)

    def responses(self, begin: int, end: int) -> list[dict]:
        """Microseconds, major and minor faults of these sweeps."""
        parts = [line.split() for line in self._lines[begin:end]]
        return [{"response_us": float(response), "major": int(major), "minor": int(minor)} for response, major, minor in parts]

    def alive(self) -> bool:
        return self._process.poll() is None


class Interactive:
    def __init__(self, options: argparse.Namespace, screen: Screen):
        self.options, self.screen = options, screen
        self.pagecast = options.build / "bin" / "pagecast"
        self.keys = options.work / "keys"
        self.task_program = options.work / "interactive-plain"
        self.unavailable: str | None = None
        self.complete = False
        self.alone: list[dict] = []  # sleep_s, responses
        self.points: list[dict] = []  # program, version, sleep_s (None: without the task), runs, responses

    def prepare(self):
        options = self.options
        options.work.mkdir(parents=True, exist_ok=True)
        self.screen.say(f"building {len(options.chosen)} programs, plain and with pagecast, and the task")
        self.built = {p.name: compile_both(p, options.build, options.work) for p in options.chosen}
        compile_once(Source("interactive", ROOT / "apps" / "interactive.c"), "plain", options.build, self.task_program)
        prepare_keys_for(options.chosen, options.limit_bytes, self.keys, self.screen.say)

    def resume(self, earlier: dict):
        self.alone, self.points = earlier["alone"], earlier["points"]

    def measure(self):
        options = self.options
        self.unavailable = limit_refusal(options.limit_bytes)
        if self.unavailable:
            return self.screen.say(f"not measured: {self.unavailable}")
        most = max(p.data_bytes(options.limit_bytes) for p in options.chosen)
        with swap_for(most + options.set_bytes, options.work, self.screen.say) as self.swap:
            if self.swap.why_not:
                self.unavailable = self.swap.why_not
                return None
            parts = missing(options.runs, lambda turn: [*self.alone_parts(), *self.program_parts()])
            with self.screen.steps(len(parts)):
                make(parts, self.screen, lambda: write_json(options.json, self.result()))
        self.complete = True

    def alone_parts(self) -> list[Part]:
        def part(sleep: float) -> Part:
            return Part(f"the task alone, sleep {sleep:g} s", lambda: self.alone.append({"sleep_s": sleep, "responses": self.run_alone(sleep)}),
                        lambda: sum(a["sleep_s"] == sleep for a in self.alone))
        return [part(s) for s in self.options.sleep_times] if "alone" in self.options.kinds else []

    def program_parts(self) -> list[Part]:
        def part(program: Program, version: str, sleep: float | None) -> Part:
            words = "without the task" if sleep is None else f"sleep {sleep:g} s"
            return Part(f"{program.name}: {VERSIONS[version]}, {words}", lambda: self.points.append(self.point(program, version, sleep)),
                        lambda: sum((p["program"], p["version"], p["sleep_s"]) == (program.name, version, sleep) for p in self.points))
        return [part(p, v, s) for p in self.options.chosen for s in [None, *self.options.sleep_times] for v in self.options.kinds if v != "alone"]

    def run_alone(self, sleep: float) -> list[dict]:
        with self.swap.on(), MemoryGroup(self.options.limit_bytes, swap=True) as group:
            with Task(self.task_program, self.options.set_bytes, sleep, group) as task:
                until = time.monotonic() + ALONE_S
                while (task.sweeps() < self.options.sweeps or time.monotonic() < until) and task.alive():
                    time.sleep(0.02)
                return task.responses(0, task.sweeps())

    def point(self, program: Program, version: str, sleep: float | None) -> dict:
        """The program, over and over, at least LEAST_RUNS times, until the task has responded often enough; what came after its
        end does not count."""
        samples, swept = [], []  # swept: first and last sweep beside each run

        def enough() -> bool:
            long = sum(s["wall_s"] for s in samples) >= LONG_S
            return (len(samples) >= LEAST_RUNS or long) and (sleep is None or sum(end - begin for begin, end in swept) >= self.options.sweeps)

        disk.forget()
        with self.swap.on(), MemoryGroup(self.options.limit_bytes, swap=True) as group, \
                nullcontext() if sleep is None else Task(self.task_program, self.options.set_bytes, sleep, group) as task:
            while not enough() and (task is None or task.alive()):
                before = task.sweeps() if task else 0
                samples.append(self.run(program, version, group))
                if task:
                    swept.append((before, task.sweeps()))
                if samples[-1]["status"] != "ok":
                    break
            responses = [r for begin, end in swept for r in task.responses(begin, end)]
        return {"program": program.name, "multiple": program.multiple, "version": version, "sleep_s": sleep, "runs": samples,
                "responses": responses}

    def run(self, program: Program, version: str, group: MemoryGroup) -> dict:
        arguments = program.arguments(program.data_bytes(self.options.limit_bytes), self.keys)
        if version == "incore":
            group = None
        if version in ("original", "incore"):
            command = [self.built[program.name]["plain"], *arguments]
        else:
            command = [self.pagecast, "run", "--memory", self.options.memory, "--backing", self.options.work, "--option",
                       f"release={RELEASES[version]}", "--", self.built[program.name]["pagecast"], *arguments]
        return runs.run(command, group, timeout=self.options.timeout).sample()

    def result(self) -> dict:
        options = self.options
        return result("interactive", options, working_set_bytes=options.set_bytes, memory=options.memory, versions=options.kinds,
                      sleeps_s=options.sleep_times, programs=[p.name for p in options.chosen], unavailable=self.unavailable,
                      other_swap=others_in_use(), complete=self.complete, alone=self.alone, points=self.points)

    def failures(self) -> list[str]:
        """What must not be. That the original was killed or given up is a result."""
        out = []
        for p in self.points:
            if p["version"] != "original":
                out += [f"{p['program']}, {VERSIONS[p['version']]}: ended with {r['status']}" for r in p["runs"] if r["status"] != "ok"]
        for name in {p["program"] for p in self.points}:
            outputs = {r["output_sha256"] for p in self.points if p["program"] == name for r in p["runs"] if r["status"] == "ok"}
            if len(outputs) > 1:
                out.append(f"{name}: not every output is the same")
        return list(dict.fromkeys(out))


if __name__ == "__main__":
    sys.exit(main("interactive", parse_arguments, interactive_markdown, Interactive, plots="experiments.interactive_plots"))
