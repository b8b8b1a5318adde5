# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stencil with numba: python numba_stencil.py BYTES. Two grids of BYTES together, four steps; prints sums."""

import sys

import numba
import numpy as np


@numba.njit
def step(old, new):
    for i in range(1, old.shape[0] - 1):
        for j in range(1, old.shape[1] - 1):
            new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])


side = int((int(sys.argv[1]) / 16) ** 0.5)
old, new = np.zeros((side, side)), np.zeros((side, side))
old[::7, ::3] = 1.0
for turn in range(4):
    step(old, new)
    old, new = new, old
    print(repr(float(old[side // 2].sum())))
print(repr(float(old[::100].sum())))
