# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with scikit-learn: python sklearn_models.py BYTES. Principal components, then a ridge regression, of a table whose
fits need about BYTES at their most; prints what they found, to nine digits, since sums go by threads."""

import sys

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

COLUMNS = 250
rows = int(int(sys.argv[1]) / 2.25 / (8 * COLUMNS))  # a fit holds the table, a centered copy of it, and some more
random = np.random.default_rng(1)
table = random.standard_normal((rows, COLUMNS))
table[:, 1] += 3 * table[:, 0]
target = table @ np.arange(COLUMNS) + random.standard_normal(rows)
components = PCA(n_components=10, svd_solver="covariance_eigh").fit(table)
print(" ".join(f"{x:.9g}" for x in components.explained_variance_))
model = Ridge(alpha=1.0).fit(table, target)
print(" ".join(f"{x:.9g}" for x in model.coef_[::25]), f"{model.score(table, target):.9g}")
