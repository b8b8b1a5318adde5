# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streaming with numpy: python numpy_sweeps.py BYTES. Three arrays of BYTES together are swept twice; prints sums."""

import sys

import numpy as np

elements = int(sys.argv[1]) // 24
a = np.arange(elements, dtype=np.float64)
b = np.full(elements, 0.5)
c = np.empty(elements)
for sweep in range(2):
    np.multiply(a, 1.0 + sweep, out=c)  # c = x a + b
    c += b
    print(repr(float(c.sum())), repr(float(a.max())))
