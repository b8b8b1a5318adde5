# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Markdown as the style test sees it: paragraphs, sentences, links, headings, and paths in backticks.

Knows as much of Markdown as this project's documents use. Code blocks, tables, headings and comments are no prose.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MOST_PARAGRAPH_WORDS = 80
MOST_SENTENCE_WORDS = 30
MOST_FOLDER_README_LINES = 10

MADE_LATER = {"build", "results"}  # folders that the build and the harnesses make
SOURCE = r"\.(?:cpp|h|c|py|md|def|ll|sh|cmake|map|txt|in|lds|toml|yml|json)"
ABBREVIATION = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|etc|cf|vs|resp|approx|No|Fig|[A-Z])\.$")


@dataclass(frozen=True)
class Paragraph:
    line: int
    text: str

    def words(self) -> int:
        return count_words(self.text)

    def sentences(self) -> list[str]:
        found, start = [], 0
        for end in re.finditer(r"[.!?]['\")\]*_]*(?=\s|$)", self.text):
            so_far = self.text[start:end.end()]
            if not ABBREVIATION.search(so_far):
                found.append(so_far.strip())
                start = end.end()
        return found + ([self.text[start:].strip()] if self.text[start:].strip() else [])


def count_words(text: str) -> int:
    return sum(1 for token in text.split() if re.search(r"\w", token))


def without_code_blocks(text: str) -> list[str]:
    """The lines, with fenced and indented code and comments made empty."""
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    lines, fence, in_list, before = [], None, False, ""
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            if mark and mark.group(1).startswith(fence):
                fence = None
            lines.append("")
            continue
        if mark:
            fence = mark.group(1)
            lines.append("")
            continue
        if re.match(r"\s{0,3}([-*+]|\d+\.)\s", line):
            in_list = True
        elif line.strip() and not line.startswith(" "):
            in_list = False
        indented = line.startswith("    ") and not in_list and not before.strip()
        lines.append("" if indented else line)
        before = "" if indented else line
    return lines


def as_words(text: str) -> str:
    """Prose without its markup: code is one word, a link is its text."""
    text = re.sub(r"(`+)(.+?)\1", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def paragraphs(text: str) -> list[Paragraph]:
    found, gathered, first = [], [], 0

    def end():
        if gathered:
            found.append(Paragraph(first, as_words(" ".join(gathered))))
        gathered.clear()

    for number, line in enumerate(without_code_blocks(text), 1):
        stripped = line.strip()
        item = re.match(r"([-*+]|\d+\.)\s+(.*)", stripped)
        no_prose = not stripped or stripped.startswith(("|", "#", "<", "[!")) or re.fullmatch(r"[-=*_]{3,}", stripped)
        if no_prose or item:
            end()
        if no_prose:
            continue
        if not gathered:
            first = number
        gathered.append(item.group(2) if item else stripped.removeprefix("> "))
    end()
    return found


def slug(heading: str) -> str:
    """The anchor that GitHub and the site give a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().strip("#").strip())
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()))


@cache
def anchors(document: Path) -> frozenset[str]:
    found: dict[str, int] = {}
    names = set()
    for line in without_code_blocks(document.read_text()):
        heading = re.match(r"#{1,6}\s+(.*)", line)
        if heading:
            name = slug(heading.group(1))
            times = found.get(name, 0)
            found[name] = times + 1
            names.add(f"{name}-{times}" if times else name)
    return frozenset(names)


def links(text: str) -> list[tuple[int, str]]:
    """Line and target of each link, tables included."""
    found = []
    for number, line in enumerate(without_code_blocks(text), 1):
        line = re.sub(r"`[^`]*`", "", line)
        found += [(number, m.group(1)) for m in re.finditer(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", line)]
    return found


def code_spans(text: str) -> list[tuple[int, str]]:
    return [(number, m.group(1)) for number, line in enumerate(without_code_blocks(text), 1)
            for m in re.finditer(r"`([^`]+)`", line)]


class Checker:
    """Says what is wrong with documents below a root folder."""

    def __init__(self, root: Path):
        self.root = root
        self.names = {p.name for p in self.files("*")}
        self.top = {p.name for p in root.iterdir()}

    def files(self, pattern: str):
        for path in self.root.rglob(pattern):
            parts = path.relative_to(self.root).parts
            if not MADE_LATER & set(parts[:1]) and not any(p.startswith(".") and p != ".ci" for p in parts):
                yield path

    def documents(self) -> list[Path]:
        kept = [self.root / "README.md", self.root / "CONTRIBUTING.md", *(self.root / "docs").rglob("*.md")]
        return sorted({p for p in kept if p.exists()} | set(self.files("README.md")))

    def problems(self, document: Path) -> list[str]:
        text = document.read_text()
        where = document.relative_to(self.root)
        found = [(line, what) for check in (self.prose, self.broken_links, self.missing_paths)
                 for line, what in check(document, text)]
        lines = sum(1 for line in text.splitlines() if line.strip())
        if document.name == "README.md" and document.parent != self.root and lines > MOST_FOLDER_README_LINES:
            found.append((1, f"{lines} lines, of at most {MOST_FOLDER_README_LINES} for a folder"))
        return [f"{where}:{line}: {what}" for line, what in sorted(found)]

    def prose(self, document: Path, text: str):
        for paragraph in paragraphs(text):
            if paragraph.words() > MOST_PARAGRAPH_WORDS:
                yield paragraph.line, f"a paragraph of {paragraph.words()} words, of at most {MOST_PARAGRAPH_WORDS}"
            for sentence in paragraph.sentences():
                if count_words(sentence) > MOST_SENTENCE_WORDS:
                    yield paragraph.line, f"a sentence of {count_words(sentence)} words, of at most {MOST_SENTENCE_WORDS}: {sentence}"

    def broken_links(self, document: Path, text: str):
        for line, target in links(text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            there = (document.parent / path).resolve() if path else document
            if not there.exists():
                yield line, f"the link {target} leads nowhere"
            elif there.is_dir():
                yield line, f"the link {target} leads to a folder: name its README.md, which the site has"
            elif anchor and there.suffix == ".md" and anchor not in anchors(there):
                yield line, f"{path or where_of(document)} has no heading for #{anchor}"

    def missing_paths(self, document: Path, text: str):
        for line, span in code_spans(text):
            if re.fullmatch(r"[\w.-]+(/[\w.*-]+)+/?|[\w.-]+/", span):
                if self.looks_ours(document, span) and not self.there(document, span):
                    yield line, f"there is no {span}"
            elif re.fullmatch(r"[\w-]+\.(?:cpp|h|def)", span) and span not in self.names:
                yield line, f"there is no file {span}"

    def looks_ours(self, document: Path, span: str) -> bool:
        first = span.split("/")[0]
        if first in MADE_LATER:
            return False
        return first in self.top or (document.parent / first).exists() or bool(re.search(SOURCE + "$", span))

    def there(self, document: Path, span: str) -> bool:
        return any(any(folder.glob(span.rstrip("/")))
                   for folder in (self.root, document.parent, self.root / "runtime" / "include"))


def where_of(document: Path) -> str:
    return document.name


def reached(root: Path, hops: int) -> set[Path]:
    """What links of README.md lead to in so many hops; of a folder, to its README.md."""
    seen, edge = {root / "README.md"}, {root / "README.md"}
    for _ in range(hops):
        following = set()
        for document in edge:
            if document.suffix != ".md":
                continue
            for _, target in links(document.read_text()):
                path = (document.parent / target.partition("#")[0]).resolve()
                path = path / "README.md" if path.is_dir() else path
                if not re.match(r"[a-z]+:", target) and path.exists():
                    following.add(path)
        edge = following - seen
        seen |= following
    return seen
