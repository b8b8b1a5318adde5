# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Columns with pyarrow: python pyarrow_columns.py BYTES. Arithmetic, a filter, a sort and a group-by of columns that need about
BYTES at their most; prints sums. Its memory is that of an allocator which comes with it."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BYTES_A_ROW = 40  # at the most
rows = int(sys.argv[1]) // BYTES_A_ROW
random = np.random.default_rng(1)
table = pa.table({"key": random.integers(0, 1000, rows), "value": random.integers(0, 1 << 40, rows)})
doubled = pc.add(table["value"], table["value"])
print(pc.sum(doubled).as_py(), table.filter(pc.less(table["key"], 300)).num_rows)
order = pc.sort_indices(table["value"])
print(pc.sum(pc.take(table["key"], order.slice(0, rows // 2))).as_py())
groups = table.group_by("key").aggregate([("value", "sum"), ("value", "max")]).sort_by("key")
print(groups.num_rows, pc.sum(groups["value_max"]).as_py(), groups["value_sum"][7].as_py())
