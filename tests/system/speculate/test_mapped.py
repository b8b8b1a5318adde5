# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that read files through mappings: their waits are in page faults, and what their copies touch is hinted."""

import random
import subprocess
from pathlib import Path

import pytest

from speculating import speculation, storage  # noqa: F401

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    place = tmp_path_factory.mktemp("mapped")
    (place / "file").write_bytes(random.Random(7).randbytes(1021 << 6) * 1024)
    return place


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    program = tmp_path_factory.mktemp("mapped") / "mapped"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", HERE / "mapped.c", "-o", program], check=True)
    return program


@pytest.mark.alone  # counts what a copy at idle priority does
@pytest.mark.parametrize("how,count,hinted", [("scattered", 200, 100), ("shared", 200, 100), ("again", 30, 50), ("written", 200, 100),
                                              ("caught", 200, 100)])
def test_what_is_touched_is_hinted(speculation, storage, data, mapped, how, count, hinted):
    plain = speculation.plain(mapped, "file", how, count, cwd=storage(data))
    alone = storage.close()
    beside = speculation.run(mapped, "file", how, count, cwd=storage(data))
    asked = storage.close()
    assert (beside.stdout, beside.stderr, beside.returncode) == (plain.stdout, b"", 0)
    figures = speculation.figures()
    print(figures, asked)
    assert figures["original"]["waits_in_faults"] >= 1
    assert figures["copies"]["made"] >= 1
    assert figures["copies"]["ended"]["crashed"] == figures["copies"]["ended"]["call"] == figures["copies"]["ended"]["set_up"] == 0
    assert figures["copies"]["hinted"] >= hinted
    assert figures["prefetch"]["done"] >= hinted
    assert asked["at_once"] >= 4 > alone["at_once"], "the storage is asked for several parts at once"
    assert asked["bytes"] <= 1.1 * alone["bytes"], "no more than the kernel would read around each fault"


def test_programs_and_libraries_are_no_input(speculation, storage, tmp_path):
    """A copy that took constants of a library for zeros would crash. Python loads what it needs from slow storage."""
    (tmp_path / "data").mkdir()
    source = tmp_path / "large.c"
    source.write_text('#include <string.h>\nstatic const char text[4 << 20] = {[3 << 20] = 5};\n'
                      'long use(long i) { return text[i] + (long)strlen(text + i + 1); }\n')
    subprocess.run(["cc", "-O0", "-shared", "-fPIC", source, "-o", tmp_path / "data" / "large.so"], check=True)
    with open(tmp_path / "data" / "file", "wb") as file:
        file.truncate(16 << 20)
    script = ("import ctypes, os\nuse = ctypes.CDLL('./large.so').use\nf = os.open('file', os.O_RDONLY)\nn = 0\n"
              "for i in range(100):\n    n += use(i * 37 % 40 * 100000) + len(os.pread(f, 4096, i * 37 % 256 << 16))\nprint(n)\n")
    plain = speculation.plain("/usr/bin/python3", "-c", script, cwd=storage(tmp_path / "data"))
    beside = speculation.run("/usr/bin/python3", "-c", script, cwd=storage(tmp_path / "data"))
    assert (beside.stdout, beside.stderr, beside.returncode) == (plain.stdout, b"", 0) and plain.returncode == 0
    # One may, of the loader in the middle of its mappings.
    assert speculation.figures()["copies"]["ended"]["crashed"] <= 1
