# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source packages of the Debian release that this machine runs, fetched by apt with a configuration of its own:
nothing of the system's changes. apt checks the archive's signature and each file's checksum."""

import re
import shutil
import subprocess
from pathlib import Path

SYSTEM = Path("/etc/apt")


class Unavailable(Exception):
    """A package cannot be had here; the text is a sentence that says why."""


class Archive:
    def __init__(self, directory: Path, system: Path = SYSTEM):
        self._files = directory / "files"
        self._lists = directory / "lists"
        self._parts = directory / "sources"
        self._log = directory / "apt.log"
        self._system = system
        self._refreshed = False
        self._unreachable = ""

    def fetch(self, package: str) -> Path:
        """The package's description (.dsc), with its files beside it."""
        for tool in ("apt-get", "dpkg-source"):
            if not shutil.which(tool):
                raise Unavailable(f"{tool} is missing: install apt and dpkg-dev, on Debian")
        found = self._fetched(package)
        if found:
            return found
        if not self._refreshed:
            self._refresh_once()
        self._apt("source", "--download-only", "--only-source", package)
        return self._fetched(package) or self._fail(f"apt fetched no description of {package}")

    def unpack(self, description: Path, into: Path):
        """The sources with Debian's patches applied. dpkg-source compares the checksums once more."""
        shutil.rmtree(into, ignore_errors=True)
        into.parent.mkdir(parents=True, exist_ok=True)
        self._run("dpkg-source", "--no-check", "--extract", description, into)

    def _refresh_once(self):
        """Without a network, only the first package waits for the time-out."""
        if self._unreachable:
            raise Unavailable(self._unreachable)
        try:
            self.refresh()
        except Unavailable as reason:
            self._unreachable = str(reason)
            raise

    def refresh(self):
        """Reads the archive's lists of source packages."""
        sources = source_entries(self._system, release_codename())
        if not sources:
            raise Unavailable(f"{self._system} names no archive of this Debian release, so there is nowhere to fetch from")
        for directory in (self._files, self._lists / "partial", self._parts):
            directory.mkdir(parents=True, exist_ok=True)
        for old in self._parts.iterdir():
            old.unlink()
        for number, (suffix, text) in enumerate(sources):
            (self._parts / f"{number}.{suffix}").write_text(text)
        self._apt("update", "--error-on=any")
        self._refreshed = True

    def _fetched(self, package: str) -> Path | None:
        whole = [d for d in self._files.glob(f"{package}_*.dsc") if all((self._files / f).exists() for f in files_of(d))]
        return max(whole, key=lambda d: d.stat().st_mtime, default=None)

    def _apt(self, *arguments: str):
        directory = self._files.parent
        self._run("apt-get", "--quiet", "--yes", *arguments, "-o", "Dir::Etc::sourcelist=/dev/null",
                  "-o", f"Dir::Etc::sourceparts={self._parts}", "-o", f"Dir::State::lists={self._lists}",
                  "-o", f"Dir::Cache={directory / 'cache'}", "-o", "APT::Sandbox::User=",
                  "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30")

    def _run(self, *command):
        self._files.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([str(c) for c in command], cwd=self._files, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        with self._log.open("a") as log:
            log.write(f"$ {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        if done.returncode:
            self._fail(first_error(done.stderr) or f"{command[0]} ended with status {done.returncode}")

    def _fail(self, why: str):
        raise Unavailable(f"{why} (log: {self._log})")


def files_of(description: Path) -> list[str]:
    """The names of the files that a .dsc lists with their SHA-256."""
    section = re.search(r"^Checksums-Sha256:((?:\n .*)+)", description.read_text(errors="replace"), re.MULTILINE)
    return re.findall(r"^ [0-9a-f]{64} \d+ (\S+)$", section[1], re.MULTILINE) if section else []


def version_of(description: Path) -> str:
    """Debian's version, without the epoch."""
    return re.search(r"^Version: (?:\d+:)?(\S+)$", description.read_text(errors="replace"), re.MULTILINE)[1]


def first_error(text: str) -> str:
    """apt's own sentence. It says "E: Failed to fetch ..." of each file."""
    errors = re.findall(r"^(?:E:|dpkg-source: error:) (.*)$", text, re.MULTILINE)
    return re.sub(r"\s+", " ", errors[0]).strip() if errors else ""


def release_codename(path: Path = Path("/etc/os-release")) -> str:
    match = re.search(r"^VERSION_CODENAME=\"?(\w+)", path.read_text(), re.MULTILINE) if path.exists() else None
    return match[1] if match else ""


def source_entries(system: Path, codename: str) -> list[tuple[str, str]]:
    """The system's archives of this release as entries for sources: (suffix of the file, its text). Archives of
    others, whose suites have other names, are left out."""
    if not codename:
        return []
    entries = []
    for file in sorted((system / "sources.list.d").glob("*.sources")):
        stanzas = re.split(r"\n\s*\n", file.read_text())
        entries += [("sources", text) for text in (_source_stanza(s, codename) for s in stanzas) if text]
    for file in [system / "sources.list", *sorted((system / "sources.list.d").glob("*.list"))]:
        lines = file.read_text().splitlines() if file.exists() else []
        entries += [("list", text) for text in (_source_line(line, codename) for line in lines) if text]
    return entries


def _source_stanza(text: str, codename: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", "\n".join(lines), re.MULTILINE))
    suites = fields.get("Suites", "").split()
    if not _of_release(suites, codename) or fields.get("Enabled", "yes") == "no":
        return ""
    return "\n".join("Types: deb-src" if line.startswith("Types:") else line for line in lines if line.strip()) + "\n"


def _source_line(line: str, codename: str) -> str:
    match = re.fullmatch(r"deb(?:-src)?((?:\s+\[[^]]*\])?\s+\S+\s+(\S+)\s+.*)", line.split("#")[0].strip())
    return f"deb-src{match[1]}\n" if match and _of_release([match[2]], codename) else ""


def _of_release(suites: list[str], codename: str) -> bool:
    return bool(suites) and all(re.fullmatch(rf"{codename}(-\w+)*", suite) for suite in suites)
