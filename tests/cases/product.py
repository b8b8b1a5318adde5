# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of a large matrix and of its transpose with a narrow one, as in a randomised decomposition. The library goes
down panels of a few hundred columns, a page or two of each row.

Usage: product.py FILE ROWS COLUMNS make|mapped|heap"""

import sys
import time

import numpy as np

file, rows, columns, form = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if form == "make":
    made = np.random.default_rng(4)
    with open(file, "wb") as out:
        for first in range(0, rows, 500):
            out.write(made.integers(-9, 9, (min(500, rows - first), columns)).astype(np.float32).tobytes())
    sys.exit()
if form == "mapped":
    matrix = np.memmap(file, dtype=np.float32, mode="r", shape=(rows, columns))
else:
    matrix = np.fromfile(file, dtype=np.float32).reshape(rows, columns)
since = time.monotonic()
narrow = np.random.default_rng(5).integers(-3, 3, (columns, 8)).astype(np.float32)
across = matrix @ narrow
back = matrix.T @ (across % 7)
print(f"case: pass {time.monotonic() - since:.3f} s", file=sys.stderr)
print(" ".join(f"{x:.9e}" for x in (*across.sum(axis=0, dtype=np.float64), *back.sum(axis=0, dtype=np.float64))))
