# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of other pages of docs: what they say to paste prints what they say."""

import json
import shutil

import pytest

import pages
from places import ROOT

DOCS = ROOT / "docs"
# What must be pasted before, where a page goes on with the example of another one.
AFTER = {"statistics": ["explain"]}
NEEDED = {"ARCHITECTURE": ["clang-19", "opt-19"], "compile": ["flang-new-19"], "sharing": ["mpirun", "nbdkit"]}


def shown() -> list[str]:
    return sorted(page.stem for page in DOCS.glob("*.md") if pages.BLOCK.search(page.read_text()))


def waits_are_known(folder) -> bool:
    """Whether the pager, and not the kernel, paged the data of every run: pages show what it measures."""
    found = [json.loads(f.read_text()) for f in folder.glob("*.json")]
    return all("time" not in one or one["time"]["stall_s"] is not None for one in found)  # profiles are of runs without paging


@pytest.mark.parametrize("page", shown())
def test_example(built, disk_dir, page):
    if page == "python":
        pytest.importorskip("numpy", reason="numpy is not installed")
    for command in NEEDED.get(page, ()):
        if not shutil.which(command):
            pytest.skip(f"{command} is not installed")
    shell = pages.Shell(built, disk_dir)
    for earlier in AFTER.get(page, ()):
        shell.run(pages.steps(DOCS / f"{earlier}.md")[0].commands)
    for step in pages.steps(DOCS / f"{page}.md"):
        printed = shell.run(step.commands)
        if not waits_are_known(shell.folder):
            pytest.skip("there is no userfaultfd here")
        assert not step.printed or pages.agrees(printed, step.printed), f"docs/{page}.md does not say what came:\n{printed}"


def test_what_was_measured_may_differ_and_results_may_not():
    said = '42\ns.json: 1.5 s; ...\n   run: entries 1, hit 51,660, late ...\ns.json    3.77  1.2 GiB\n'
    assert pages.agrees('42\ns.json: 2 s; more\n   run: entries 1, hit 7, late 3\ns.json  3  210.0 MiB\n', said)
    assert not pages.agrees('43\ns.json: 2 s; more\n   run: entries 1, hit 7, late 3\ns.json  3  210.0 MiB\n', said)
    assert not pages.agrees('42\ns.json: 2 s; more\n   run: entries 1, late 3\ns.json  3  210.0 MiB\n', said)
    assert pages.agrees("file   seconds  read\ns.json     3  84 MiB\n", "file    seconds       read\ns.json    0.727  196.9 MiB\n")
