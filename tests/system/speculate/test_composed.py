# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that are composed of a seed: no difference in output, status or files. PAGECAST_SPECULATE_SEEDS=1000 runs more."""

import os
import random
import subprocess
from pathlib import Path

from speculating import speculation, storage  # noqa: F401

HERE = Path(__file__).parent
SEEDS = int(os.environ.get("PAGECAST_SPECULATE_SEEDS", "60"))
OPERATIONS = 12


def test_composed_programs(speculation, storage, tmp_path):
    program, data = tmp_path / "composed", tmp_path / "data"
    subprocess.run(["cc", "-O2", "-pthread", HERE / "composed.c", "-o", program], check=True)
    chance = random.Random(5)
    (data / "names").mkdir(parents=True)
    (data / "file").write_bytes(chance.randbytes(4 << 20))
    for i in range(6):
        (data / "names" / f"n{i}").write_bytes(chance.randbytes(chance.randint(1, 9000)))
    copies = 0
    place = storage(data, servers=8, milliseconds=2)
    for seed in range(SEEDS):
        seen = []
        for run in (speculation.plain, speculation.run):
            written = tmp_path / f"{run.__name__}{seed}"
            written.mkdir()
            done = run(program, str(seed), str(OPERATIONS), written, cwd=place)
            seen.append((done.returncode, done.stdout, done.stderr, {p.name: p.read_bytes() for p in written.iterdir()}))
        assert seen[0] == seen[1], f"seed {seed}"
        copies += speculation.figures()["copies"]["made"]
    assert copies > SEEDS / 4
