# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The account of a traced run: every read of the program, and which of them were hinted before they were made."""

import os
import signal
import subprocess

import pytest

from slow import write_tree
from speculating import speculation, storage  # noqa: F401

FILES, BLOCKS = 40, 3


@pytest.fixture
def files(tmp_path):
    home = tmp_path / "files"
    home.mkdir()
    for i in range(FILES):
        (home / f"f{i}").write_bytes(os.urandom(BLOCKS * 4096))
    return home


def accounted(speculation, *command, **how) -> tuple[subprocess.CompletedProcess, dict]:
    line = speculation.command(*command)
    line[2:2] = ["--account"]
    done = subprocess.run(line, capture_output=True, timeout=60, start_new_session=True, **how)
    return done, speculation.figures()


def test_every_read_is_counted(speculation, files):
    """Of a shell's children, too. What the loader reads of libraries are some reads more."""
    done, figures = accounted(speculation, "sh", "-c", "cat f0 f1; cat f2; cat f0; exit 3", cwd=files)
    nothing, without = accounted(speculation, "sh", "-c", "cat /dev/null; cat /dev/null; cat /dev/null; exit 3", cwd=files)
    assert done.returncode == nothing.returncode == 3 and len(done.stdout) == 4 * BLOCKS * 4096
    assert figures["account"]["bytes"] - without["account"]["bytes"] == 4 * BLOCKS * 4096
    assert figures["account"]["blocks"] - without["account"]["blocks"] == 4 * BLOCKS
    assert figures["account"]["reused"] - without["account"]["reused"] == BLOCKS
    assert figures["account"]["hints"] == figures["account"]["blocks_hinted"] == 0, "all was in memory"


def test_what_the_program_has_written_is_its_own(speculation, files):
    """It is in memory, and no hint of it could be of use."""
    done, figures = accounted(speculation, "sh", "-c", "cat f0 f1 >new; cat f2 >>new; cat new; cat f0", cwd=files)
    nothing, without = accounted(speculation, "sh", "-c", "cat f0 f1 >new; cat f2 >>new; cat f0; cat f0", cwd=files)
    assert len(done.stdout) == 4 * BLOCKS * 4096 and done.returncode == nothing.returncode == 0
    assert figures["account"]["blocks_own"] == 3 * BLOCKS and without["account"]["blocks_own"] == 0
    assert figures["account"]["blocks"] - without["account"]["blocks"] == 2 * BLOCKS


def test_hints_of_what_is_mapped_are_not_judged(speculation, storage, files):
    """Reads through mappings are not seen. The program's own files and libraries are mapped, which may be on a disk, too."""
    script = f"import mmap, sys, time\nn = 0\nfor f in sys.argv[1:]:\n    with open(f, 'rb') as file:\n        n += sum(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[::4096])\ntime.sleep(1)\nprint(n > 0)"
    done, figures = accounted(speculation, "/usr/bin/python3", "-c", script, *(f"f{i}" for i in range(FILES)), cwd=storage(files))
    assert (done.stdout, done.returncode) == (b"True\n", 0)
    assert figures["prefetch"]["named"] >= FILES / 2
    assert figures["account"]["blocks_in_error"] == figures["account"]["prefetched_unused"] == 0


def test_what_is_named_and_not_read_is_hinted_in_error(speculation, storage, files):
    # The rest of the time is for prefetching what it names last.
    script = f"import sys, time\nprint(sum(len(open(f, 'rb', 0).read()) for f in sys.argv[1:{FILES - 9}]))\ntime.sleep(2)"
    # Names are taken when a wait has been seen by two looks. Where looks come late, none of 2 ms may be.
    place = storage(files, milliseconds=10)
    done, figures = accounted(speculation, "/usr/bin/python3", "-c", script, *(f"f{i}" for i in range(FILES)), cwd=place)
    account = figures["account"]
    assert done.stdout.decode() == f"{(FILES - 10) * BLOCKS * 4096}\n"
    not_read = 10 * BLOCKS
    assert account["blocks_in_error"] == account["prefetched_unused"] == not_read, figures
    assert account["hints_in_error"] == 10
    assert (FILES - 20) * BLOCKS <= account["blocks_hinted"] <= (FILES - 10) * BLOCKS
    assert account["prefetched_fully"] + account["prefetched_partly"] <= (FILES - 10) * BLOCKS


def test_a_search_is_hinted_nearly_as_a_whole(speculation, storage, tmp_path):
    tree = write_tree(tmp_path / "tree", directories=6, files=30)
    plain = speculation.plain("grep", "-rc", "needle", ".", cwd=tree)
    done, figures = accounted(speculation, "grep", "-rc", "needle", ".", cwd=storage(tree))
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode)
    account = figures["account"]
    print(account)
    assert figures["copies"]["made"] >= 1
    assert account["blocks_hinted"] >= 0.8 * account["blocks"]
    assert account["blocks_in_error"] <= 0.02 * account["blocks_hinted"]
    assert account["prefetched_unused"] <= 0.02 * account["blocks"]


def test_signals_and_threads_are_as_without_a_tracer(speculation, tmp_path):
    script = "import os, signal, threading\nt = threading.Thread(target=lambda: print('thread', flush=True))\nt.start(); t.join()\nos.kill(os.getpid(), signal.SIGTERM)\n"
    done, figures = accounted(speculation, "/usr/bin/python3", "-c", script, cwd=tmp_path)
    assert (done.stdout, done.returncode) == (b"thread\n", -signal.SIGTERM)
    assert figures["account"]["reads"] > 10
