# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of docs as scripts: what is to be pasted, and what is said to come of it."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUMMARY = re.compile(r"pagecast: \d+(\.\d+)? s[,;] .*")
# Lines of what a run measured, whose figures are others at each run: of `explain --run`, of the statistics, of tables, and of an I/O node's counts.
HEADINGS = re.compile(r"file +seconds ")  # of the table that pagecast report prints
MEASURED = re.compile(r" *(run|[\w-]+\.json): |  \"|[\w-]+\.json  |(all|helper\d+) +\d")
FIGURE = re.compile(r"\d[\d.,]*( [KMG]iB)?")


@dataclass(frozen=True)
class Step:
    commands: str
    printed: str  # what the page says; nothing where it says nothing


def steps(page: Path) -> list[Step]:
    """The blocks to paste, in order, each with the text that follows before the next one."""
    found = []
    for kind, text in BLOCK.findall(page.read_text()):
        if kind == "sh":
            found.append(Step(text, ""))
        elif not found or found[-1].printed:
            raise ValueError(f"{page.name}: a text block that follows no commands")
        else:
            found[-1] = Step(found[-1].commands, text)
    return found


def lines_of(text: str) -> list[str]:
    """Without what is another at each run: figures that were measured, and spaces at the ends of lines."""
    lines = [SUMMARY.sub("pagecast: SUMMARY", line).rstrip() for line in text.splitlines()]
    return [FIGURE.sub("N", closed(line)) if MEASURED.match(line) else closed(line) if HEADINGS.match(line) else line for line in lines]


def closed(line: str) -> str:
    """Without the spaces that columns of figures are as wide as."""
    return re.sub(" +", " ", line)


def pattern_of(line: str) -> str:
    """`...` at the end of a line stands for the rest of it, and on a line of its own for any lines."""
    if line == "...":
        return "(?:.*\n)*?"
    return re.escape(line.removesuffix("...")) + (".*\n" if line.endswith("...") else "\n")


def agrees(printed: str, said: str) -> bool:
    """Whether that is what the page says."""
    pattern = "".join(pattern_of(line) for line in lines_of(said))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines_of(printed))) is not None


class Shell:
    """A folder to paste into, with the built command and this Python on the path, and the build tree as `build`. Python has the
    package as the wheel would install it."""

    def __init__(self, tools, folder):
        self.folder = folder
        path = os.pathsep.join((str(tools.pagecast.parent), os.path.dirname(sys.executable), os.environ["PATH"]))
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
        self.environment = {**clean, "PATH": path, "HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": str(ROOT / "python"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        (folder / "build").symlink_to(tools.build)

    def run(self, commands: str, group=None, within=(), **more) -> str:
        done = subprocess.run([*within, "bash", "-euc", commands], cwd=self.folder, env={**self.environment, **more}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                              preexec_fn=group.join if group else None)
        assert done.returncode == 0, done.stdout
        return done.stdout
