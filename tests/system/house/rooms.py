# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the sources of a folder include, declare and define, as far as that can be read without a compiler.

A room is a folder of sources. A house lists its rooms and, for each, those that it may include. Arrows are the includes of one
room's files that lead to another room. A header is false if it declares a function that only another room's files define.
"""

import re
from collections import defaultdict
from pathlib import Path

SOURCES = (".h", ".cpp", ".c", ".def")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|::|->|[^\s\w]')
ATTRIBUTE = {"__attribute__", "alignas", "asm", "decltype", "noexcept", "static_assert", "requires"}


def sources(root: Path, folder: str) -> list[Path]:
    return sorted(p for p in (root / folder).rglob("*") if p.suffix in SOURCES)


class House:
    """`allowed[room]`: the rooms that it may include, beside itself. `search`: folders that includes are looked for in.

    `faces`: rooms whose headers others outside the house know, and declare what any room defines.
    """

    def __init__(self, root: Path, allowed: dict[str, list[str]], search: list[str], faces: tuple[str, ...] = ()):
        self.root, self.allowed, self.search, self.faces = root, allowed, search, faces

    def room_of(self, path: Path) -> str:
        return path.resolve().relative_to(self.root.resolve()).parent.as_posix()

    def target(self, source: Path, include: str) -> Path | None:
        for base in (source.parent, *(self.root / s for s in self.search)):
            if (base / include).is_file():
                return base / include
        return None

    def files(self) -> list[Path]:
        tops = sorted({room.split("/")[0] for room in self.allowed})
        return [p for top in tops for p in sources(self.root, top)]

    def problems(self) -> list[str]:
        return self.strangers() + self.climbing() + self.false_headers()

    def strangers(self) -> list[str]:
        """Files in no room that is listed."""
        return [f"{p.relative_to(self.root)} is in a folder that the list of rooms does not have"
                for p in self.files() if self.room_of(p) not in self.allowed]

    def climbing(self) -> list[str]:
        """Arrows that the list does not allow. What is in no room is another project's."""
        found = []
        for path in self.files():
            room = self.room_of(path)
            for include in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', path.read_text(), re.M):
                target, name = self.target(path, include), path.relative_to(self.root)
                if target and self.room_of(target) not in (room, *self.allowed.get(room, [])):
                    found.append(f"{name} includes {include}: {room} must not know {self.room_of(target)}")
        return found

    def false_headers(self) -> list[str]:
        """Declarations in headers whose only definitions are in other rooms."""
        declared, defined = [], defaultdict(set)
        for path in self.files():
            seen = Declarations(path.read_text())
            for name in seen.defined:
                defined[name].add(self.room_of(path))
            if path.suffix == ".h" and self.room_of(path) not in self.faces:
                declared += [(path, name) for name in sorted(seen.declared)]
        return [f"{path.relative_to(self.root)} declares {name}, which {' and '.join(sorted(defined[name]))} defines"
                for path, name in declared if defined[name] and self.room_of(path) not in defined[name]]


class Declarations:
    """Functions, and variables that are `extern`, with their scopes but for unnamed ones, which are nobody else's."""

    def __init__(self, text: str):
        self.declared: set[str] = set()
        self.defined: set[str] = set()
        text = re.sub(r"/\*.*?\*/", " ", re.sub(r"//[^\n]*", "", text), flags=re.S)
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        self.tokens = TOKEN.findall(text)
        self.at = 0
        self.scope(())

    def skip(self, opening: str, closing: str) -> None:
        """From an opening bracket to behind the one that closes it."""
        depth = 0
        while self.at < len(self.tokens):
            depth += {opening: 1, closing: -1}.get(self.tokens[self.at], 0)
            self.at += 1
            if depth == 0:
                return

    def scope(self, names: tuple[str, ...] | None) -> None:
        """Up to the brace that closes it. None: what is in it is nobody else's."""
        statement: list[str] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token == "}":
                return
            if token in ATTRIBUTE and self.tokens[self.at + 1:self.at + 2] == ["("]:
                self.at += 1
                self.skip("(", ")")
            elif token == "(":
                start = self.at
                self.skip("(", ")")
                statement += ["(", ")"] if self.at - start <= 2 else ["(", "...", ")"]
            elif token == "{":
                statement = self.brace(statement, names)
            else:
                self.at += 1
                if token == ";" or (token == ":" and statement[-1:] in (["public"], ["private"], ["protected"])):
                    self.end(statement, names)
                    statement = []
                else:
                    statement.append(token)

    def brace(self, statement: list[str], names: tuple[str, ...] | None) -> list[str]:
        """A block that belongs to the statement. What is left of the statement behind it."""
        words = self.without_template(statement)
        inner = None
        if words[:1] == ["namespace"] or words[:2] == ["inline", "namespace"]:
            named = [w for w in words if w not in ("inline", "namespace", "::")]
            inner = (*names, *named) if named and names is not None else None
            rest: list[str] = []
        elif words[:1] == ["extern"] and len(words) == 2:
            inner, rest = names, []
        elif words[:1] in (["class"], ["struct"], ["union"]) and "(" not in words:
            title = [w for w in words[1:words.index(":") if ":" in words else None] if re.match(r"\w", w) and w != "final"]
            inner = (*names, *title) if title and names is not None else None
            rest = ["struct"]
        else:
            body = "(" in words and "=" not in words[:words.index("(")] and not self.initialises(words)
            if body:
                self.define(words, names)
            self.skip("{", "}")
            return [] if body else [*statement, "{}"]
        self.at += 1
        self.scope(inner)
        self.at += 1
        return rest

    @staticmethod
    def initialises(words: list[str]) -> bool:
        """The brace behind the words is a member's value in a constructor's list, and not the body."""
        behind = words[len(words) - words[::-1].index(")"):] if ")" in words else []
        parts = words[words.index("("):]
        return ":" in parts and bool(behind or parts[-1:] != [")"]) and re.match(r"\w", words[-1]) is not None

    @staticmethod
    def without_template(words: list[str]) -> list[str]:
        while words[:2] == ["template", "<"]:
            depth = 0
            for i, w in enumerate(words):
                depth += {"<": 1, ">": -1}.get(w, 0)
                if i > 1 and depth == 0:
                    words = words[i + 1:]
                    break
            else:
                return []
        return words

    @staticmethod
    def name(words: list[str]) -> tuple[str, ...]:
        """Of the function: what stands before the first parenthesis, with its qualifiers."""
        at, found = words.index("(") - 1, []
        if at < 0 or not re.match(r"[A-Za-z_]", words[at]):
            return ()
        found = [words[at]]
        while at >= 2 and words[at - 1] == "::" and re.match(r"\w", words[at - 2]):
            at -= 2
            found.insert(0, words[at])
        return tuple(found)

    def define(self, words: list[str], names: tuple[str, ...] | None) -> None:
        name = self.name(words)
        if name and names is not None and "operator" not in words:
            self.defined.add("::".join((*names, *name)))

    def end(self, statement: list[str], names: tuple[str, ...] | None) -> None:
        """A statement that has no body."""
        words = self.without_template(statement)
        if not words or names is None or words[0] in ("using", "typedef", "friend", "struct", "class", "enum", "return"):
            return
        words = words[1:] if words[0] == "static" else words
        function = "(" in words and "=" not in words[:words.index("(")] and "operator" not in words
        if function and len(words) > 1 and self.name(words) and not {"=", "default", "delete"} <= set(words):
            if words.index("(") >= 2 or words[0] in ("~",) or len(self.name(words)) > 1:
                self.declared.add("::".join((*names, *self.name(words))))
        elif not function and words[0] == "extern":
            self.variable(words, names, self.declared)
        elif not function and len(words) > 1:
            self.variable(words, names, self.defined)

    @staticmethod
    def variable(words: list[str], names: tuple[str, ...], to: set[str]) -> None:
        for stop in ("=", "{}", "[", ":"):
            if stop in words:
                words = words[:words.index(stop)]
        if words and re.match(r"[A-Za-z_]", words[-1]):
            to.add("::".join((*names, words[-1])))


def private_methods(text: str) -> dict[str, int]:
    """Of each class and struct that has some: how many methods it declares as private. Those of nested ones are theirs."""
    text = re.sub(r"/\*.*?\*/", " ", re.sub(r"//[^\n]*", "", text), flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    tokens, found = TOKEN.findall(text), {}

    def close(at: int, opening: str, closing: str) -> int:
        depth = 0
        while at < len(tokens):
            depth += {opening: 1, closing: -1}.get(tokens[at], 0)
            at += 1
            if depth == 0:
                break
        return at

    def body(at: int, name: str, is_private: bool) -> int:
        """From behind the opening brace to behind the closing one. `name` "": of no class."""
        statement: list[str] = []
        while at < len(tokens):
            token = tokens[at]
            if token == "}":
                return at + 1
            if token == "(":
                at, statement = close(at, "(", ")"), [*statement, "()"]
            elif token == ":" and statement[-1:] in (["public"], ["private"], ["protected"]):
                at, is_private, statement = at + 1, statement[-1] == "private", []
            elif token == "{":
                words = Declarations.without_template(statement)
                kind = words[0] if words else ""
                if kind in ("class", "struct") and "()" not in words:
                    own = re.match(r"\w+", words[1]).group() if words[1:] and re.match(r"\w", words[1]) else "unnamed"
                    at, statement = body(at + 1, own, kind == "class"), ["member"]
                elif kind in ("namespace", "extern", "inline") and "()" not in words:
                    at, statement = body(at + 1, "", False), []
                else:
                    at = close(at, "{", "}")
                    if "()" in words and "=" not in words[:words.index("()")]:
                        if ":" in words and at < len(tokens) and tokens[at] in (",", "{"):
                            statement = [*statement, "{}"]  # a member's value in a constructor's list
                            continue
                        count(name, is_private, words)
                        statement = []
                    else:
                        statement = [*statement, "{}"]
            else:
                at += 1
                if token == ";":
                    count(name, is_private, Declarations.without_template(statement))
                    statement = []
                else:
                    statement.append(token)
        return at

    def count(name: str, is_private: bool, words: list[str]):
        before = words[:words.index("()")] if "()" in words else []
        is_method = before and not {"=", "friend", "using"} & set(before) and re.match(r"[A-Za-z_~]", before[-1]) and \
            before.count("<") == before.count(">")  # else the parentheses are in the type of a member
        if name and is_private and is_method and "delete" not in words and before != [name]:
            found[name] = found.get(name, 0) + 1

    body(0, "", False)
    return found
