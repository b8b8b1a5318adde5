# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of ours in other people's libraries, three times as large as memory: what comes out is what comes out without pagecast.

The libraries are those of `make people`, in its virtual environment; what is in neither that nor the tests' own is skipped."""

import json
import subprocess
import sys

import pytest

from places import ROOT

MIB = 1 << 20
MEMORY = 24 * MIB
# Those whose own objects and code, as they are imported, are several times that have more: else the test is of these, for minutes.
LARGER = {"numba": 96 * MIB, "pandas": 96 * MIB, "pyarrow": 96 * MIB, "sklearn": 96 * MIB}
# Of three times the memory, which is the argument: `rows` rows of 8 numbers, which are hinted in whole rows, in steps and in parts, while a library works on them.
BEFORE = """
import json, sys
import numpy as np
import pagecast
rows = 3 * int(sys.argv[1]) // 64
a = pagecast.empty((rows, 8))
for at in range(0, rows, 1 << 14):
    a[at:at + (1 << 14)] = np.sin(np.arange(at * 8, (at + (1 << 14)) * 8)).reshape(-1, 8)
pagecast.prefetch(a[:1 << 13])
"""
AFTER = """
pagecast.release(a)
print(json.dumps({"result": result, "active": pagecast.active(), "read": pagecast.stats().read_bytes}))
"""
PROGRAMS = {
    "numpy": """
with pagecast.sequential(a, write=True) as parts:
    for part in parts:
        np.multiply(part, 2, out=part)
result = [repr(float(a[:, 3].sum())), repr(float(a[::7].max()))]
""",
    "scipy": """
from scipy import ndimage
pagecast.prefetch(a[::64])
ndimage.uniform_filter1d(a, 5, axis=0, output=a)
result = repr(float(a[::100].sum()))
""",
    "pandas": """
import pandas as pd
table = pd.DataFrame(a, columns=list("abcdefgh"), copy=False)
result = [repr(float(table["c"].sum())), repr(float(table["d"].max())), int((table["a"] > 0.5).sum())]
pagecast.prefetch(table["e"])
""",
    "sklearn": """
from sklearn.preprocessing import MinMaxScaler
model = MinMaxScaler(copy=False)
model.fit_transform(a)
result = [repr(float(x)) for x in (*model.data_min_, *model.data_range_, a[::100].sum())]
""",
    "polars": """
import polars as pl
column = pl.Series("x", a.reshape(-1))
pagecast.prefetch(column)
result = [repr(column.max()), repr(column.min()), column.filter(column > 0.5).len()]
""",
    "pyarrow": """
import pyarrow as pa, pyarrow.compute as pc
column = pa.array(a.reshape(-1))
pagecast.prefetch(column)
result = [repr(pc.max(column).as_py()), pc.sum(pc.greater(column, 0.5)).as_py()]
""",
    "numba": """
import numba
@numba.njit
def smooth(x):
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = 0.5 * (x[i - 1, j] + x[i, j])
smooth(a)
result = repr(float(a[::100].sum()))
""",
}


def interpreter(tools, module):
    """One that has the library, or a skip."""
    people = tools.build / "venv-bench" / "bin" / "python"
    for python in [sys.executable, *([people] if people.exists() else [])]:
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    pytest.skip(f"no Python here has {module}: make people")


@pytest.mark.parametrize("library", PROGRAMS)
def test_the_result_is_the_same(tools, disk_dir, library):
    memory = LARGER.get(library, MEMORY)
    command = (interpreter(tools, library), "-c", BEFORE + PROGRAMS[library] + AFTER, memory)
    path = {"PYTHONPATH": str(ROOT / "python")}
    expected = tools.run(*command, env=path)
    assert expected.returncode == 0, expected.stderr
    done = tools.run(tools.pagecast, "run", "--memory", memory, "--backing", disk_dir, "--", *command, env=path, timeout=120)
    assert done.returncode == 0, done.stderr
    plain, paged = json.loads(expected.stdout), json.loads(done.stdout)
    assert paged["result"] == plain["result"] and not plain["active"]
    if not paged["active"]:
        pytest.skip("nothing can be paged here")
    assert paged["read"] > 16 * MIB


COLUMNS = """
import numpy as np, pandas as pd
from pagecast._hints import ranges
n = 1000
whole = np.arange(n)
expected = {"numbers": 8, "times": 8, "zones": 8, "spans": 8, "periods": 8, "kinds": 1, "objects": 8, "truths": 1}
table = pd.DataFrame({"numbers": whole, "times": pd.date_range("2020", periods=n, freq="s"),
                      "zones": pd.date_range("2020", periods=n, freq="s", tz="UTC"), "spans": pd.timedelta_range(0, periods=n, freq="s"),
                      "periods": pd.period_range("2020", periods=n, freq="s"), "kinds": pd.Categorical(["a", "b"] * (n // 2)),
                      "objects": [{}] * n, "truths": whole > 3})
for name, size in expected.items():
    assert [size * n] == [length for _, length in ranges(table[name])], name
    assert list(ranges(table[name])) == list(ranges(table[name])), name  # the column's own memory, and no copy of it
assert sum(length for _, length in ranges(table)) == sum(expected.values()) * n
assert len(list(ranges(pd.MultiIndex.from_arrays([whole, whole])))) == 2
"""


def test_columns_of_every_type_are_covered_where_they_lie(tools):
    done = tools.run(interpreter(tools, "pandas"), "-c", COLUMNS, env={"PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
