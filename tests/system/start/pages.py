# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of docs/start as scripts: what is to be pasted, and what is said to come of it."""

import re
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUMMARY = re.compile(r"pagecast: \d+(\.\d+)? s[,;] .*")


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
    """Without what is another at each run: figures of a summary, and spaces at the ends of lines."""
    return [SUMMARY.sub("pagecast: SUMMARY", line).rstrip() for line in text.splitlines()]


def agrees(printed: str, said: str) -> bool:
    """Whether that is what the page says; there `...` on a line of its own stands for lines that it leaves out."""
    pattern = ""
    for line in lines_of(said):
        pattern += "(?:.*\n)*?" if line == "..." else re.escape(line) + "\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines_of(printed))) is not None
