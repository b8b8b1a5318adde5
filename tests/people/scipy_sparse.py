# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse matrices with scipy: python scipy_sparse.py BYTES. Products with a vector, going round, of a matrix of about BYTES;
then a transform of a signal of half as much. Prints norms."""

import sys

import numpy as np
from scipy import fft, sparse

A_ROW = 16  # entries
rows = int(sys.argv[1]) // (A_ROW * 12 + 24)
random = np.random.default_rng(1)
columns = random.integers(0, rows, rows * A_ROW, dtype=np.int32)
values = random.random(rows * A_ROW)
matrix = sparse.csr_matrix((values, columns, np.arange(0, rows * A_ROW + 1, A_ROW, dtype=np.int32)), shape=(rows, rows))
x = np.ones(rows)
for turn in range(4):
    x = matrix @ x
    norm = float(np.linalg.norm(x))
    x /= norm
    print(f"{norm:.9g}")
del matrix, values, columns
signal = np.sin(np.arange(int(sys.argv[1]) // 48, dtype=np.float64) * 0.01)
print(f"{float(np.abs(fft.rfft(signal)[::1000]).sum()):.9g}")
