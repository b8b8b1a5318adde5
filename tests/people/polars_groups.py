# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables with polars: python polars_groups.py BYTES. A group-by and a sort of a table that need about BYTES at their most;
prints sums over what came of each."""

import sys

import numpy as np
import polars as pl

BYTES_A_ROW = 56  # at the most
rows = int(sys.argv[1]) // BYTES_A_ROW
random = np.random.default_rng(1)
table = pl.DataFrame({"key": random.integers(0, rows // 20, rows), "value": random.integers(0, 1 << 40, rows)})
groups = table.group_by("key").agg(pl.col("value").sum().alias("sum"), pl.col("value").max().alias("most"))
print(groups.height, groups["sum"].sum(), groups["most"].max())
ordered = table.sort("value")
print(ordered["key"].gather_every(997).sum(), ordered["value"][rows // 2])
