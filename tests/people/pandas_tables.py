# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables with pandas: python pandas_tables.py BYTES. A table whose group-by, merge and sort need about BYTES at their most;
prints sums over what came of each."""

import sys

import numpy as np
import pandas as pd

BYTES_A_ROW = 75  # at the most: the table, what is merged, and what is sorted
rows = int(sys.argv[1]) // BYTES_A_ROW
random = np.random.default_rng(1)
table = pd.DataFrame({"key": random.integers(0, rows // 10, rows), "value": random.random(rows)})
groups = table.groupby("key")["value"].agg(["sum", "max"])
print(len(groups), repr(float(groups["max"].sum())))
names = pd.DataFrame({"key": np.arange(rows // 10), "weight": random.random(rows // 10)})
merged = table.merge(names, on="key")
print(len(merged), repr(float((merged["value"] > merged["weight"]).sum())))
del table
ordered = merged.sort_values("value", ignore_index=True)
print(repr(float(ordered["weight"].iloc[::1000].sum())), int(ordered["key"].iloc[len(ordered) // 2]))
