# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Completions and man pages, which come from the tables of --help."""

import re
import shutil
import subprocess

import pytest

COMMANDS = ["cc", "c++", "fc", "run", "speculate", "explain", "report", "top", "profile", "serve", "doctor", "completions", "man"]


def complete_in_bash(tools, place, *words):
    """What bash offers for the last of the words, in the folder `place`."""
    script = tools.run(tools.pagecast, "completions", "bash").stdout
    line = " ".join(f"'{word}'" for word in ("pagecast", *words))
    asked = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _pagecast; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, cwd=place)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    (folder / "solve.c").touch()
    (folder / "data").mkdir()
    return folder


@pytest.mark.parametrize(("words", "offered"), [
    (("",), ["--help", "--version", *COMMANDS]),
    (("sp",), ["speculate"]),
    (("run", "--mem"), ["--memory"]),
    (("run", "--memory", ""), []),
    (("run", "--backing", ""), ["data"]),
    (("run", "--stats", "so"), ["solve.c"]),
    (("run", "--memory", "4G", "printen"), ["printenv"]),
    (("run", "--summary", "--", "printen"), ["printenv"]),
    (("run", "cat", "--mem"), []),
    (("run", "cat", "so"), ["solve.c"]),
    (("explain", ""), ["data", "solve.c"]),
    (("explain", "--j"), ["--json"]),
    (("completions", "f"), ["fish"]),
    (("man", "do"), ["doctor"]),
])
def test_bash_completes(tools, place, words, offered):
    assert set(complete_in_bash(tools, place, *words)) == set(offered)  # bash shows each once


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(tools, tmp_path, shell):
    script = tools.run(tools.pagecast, "completions", shell).stdout
    for command in COMMANDS:
        assert re.search(rf"\b{re.escape(command)}\b" if command.isalpha() else re.escape(command), script)
    assert "memory" in script and "backing" in script
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed, so that the syntax is not checked")
    (tmp_path / "script").write_text(script)
    assert subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True).stderr == ""


@pytest.mark.parametrize(("line", "offered"), [("sp", "speculate"), ("run --mem", "--memory"), ("completions z", "zsh"),
                                               ("run --memory 4G printen", "printenv"), ("run --summary -- printen", "printenv")])
def test_fish_completes(tools, tmp_path, line, offered):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    (tmp_path / "script").write_text(tools.run(tools.pagecast, "completions", "fish").stdout)
    done = subprocess.run(["fish", "--no-config", "-c", f"source {tmp_path}/script; complete -C 'pagecast {line}'"], capture_output=True, text=True)
    assert {each.split("\t")[0] for each in done.stdout.splitlines()} == {offered}, done.stderr


@pytest.mark.parametrize("page", ["", "run", "speculate", "explain", "report", "top", "profile", "serve", "doctor", "completions", "man"])
def test_man_pages_have_what_the_help_has(tools, page):
    said = tools.run(tools.pagecast, "man", *([page] if page else []))
    assert said.returncode == 0 and said.stdout.startswith('.TH PAGECAST')
    options = set(re.findall(r"(?<=\s)--[a-z-]+(?= )", tools.run(tools.pagecast, *([page] if page else []), "--help").stdout.split("Examples")[0]))
    text = said.stdout.replace("\\-", "-")
    assert all(option in text for option in options if page), options
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "-"], input=said.stdout, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_what_has_no_page_or_no_script_is_said(tools):
    for words, sentence in ((("man", "rum"), "there is no command 'rum'; the nearest is 'run'"), (("completions", "csh"), "'csh' is none of bash, zsh, fish")):
        done = tools.run(tools.pagecast, *words)
        assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1


def test_they_are_installed(tools, tmp_path):
    subprocess.run(["cmake", "--install", tools.build, "--prefix", tmp_path], check=True, capture_output=True)
    for file in ("man/man1/pagecast-run.1", "bash-completion/completions/pagecast", "zsh/site-functions/_pagecast",
                 "fish/vendor_completions.d/pagecast.fish"):
        assert (tmp_path / "share" / file).stat().st_size > 200
    assert "Options of the runtime" in (tmp_path / "share/man/man1/pagecast-run.1").read_text().replace("\\-", "-")
