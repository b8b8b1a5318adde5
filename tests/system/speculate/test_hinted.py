# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that hint by hand: the same output, and the storage is asked for several things at once."""

import pytest

from programs import compiled_app
from slow import write_tree
from speculating import speculation, storage  # noqa: F401


@pytest.mark.parametrize("name,arguments", [("search", ("needle", ".")), ("slices", ("volume", "128", "12", "3"))])
def test_hinted_variants(tools, speculation, storage, tmp_path, name, arguments):
    program, data = compiled_app(tools.build, name, tmp_path), tmp_path / "data"
    write_tree(data, directories=4, files=20)
    with open(data / "volume", "wb") as file:
        for value in range(8):
            file.write(bytes([value, 1, 2, 3]) * (128 << 11))
    seen, asked = [], []
    for hints in ((), ("--hints",)):
        seen.append(speculation.plain(program, *hints, *arguments, cwd=storage(data)))
        asked.append(storage.close())
    assert seen[0].returncode == seen[1].returncode == 0
    assert seen[0].stdout == seen[1].stdout != b""
    assert asked[1]["at_once"] >= 8 > asked[0]["at_once"]
    assert asked[1]["bytes"] <= 1.02 * asked[0]["bytes"] + (1 << 17), "hardly anything that is not read"
