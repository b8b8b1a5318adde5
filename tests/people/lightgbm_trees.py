# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boosted trees with LightGBM: python lightgbm_trees.py BYTES. A table of about BYTES with what is made of it; prints
predictions of the model, to nine digits."""

import sys

import lightgbm as lgb
import numpy as np

COLUMNS = 60
rows = int(int(sys.argv[1]) / (COLUMNS * 21))  # the table, a copy that is being put into bins, and a byte for each entry
random = np.random.default_rng(1)
table = random.random((rows, COLUMNS))
target = table[:, 3] * 2 + np.sin(6 * table[:, 7]) + random.random(rows)
options = {"objective": "regression", "verbose": -1, "num_threads": 2, "deterministic": True, "force_row_wise": True, "seed": 1, "max_bin": 63,
           "bin_construct_sample_cnt": 20000}
model = lgb.train(options, lgb.Dataset(table, target), num_boost_round=3)
print(" ".join(f"{x:.9g}" for x in model.predict(table[:1000])[::50]))
