# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`%%pagecast` in IPython, without a screen."""

import re
import sys

from places import ROOT

PATH = {"PYTHONPATH": str(ROOT / "python"), "IPYTHONDIR": "/nonexistent/ipython"}

SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "pagecast")
def cell(text):
    result = shell.run_cell(text)
    error = result.error_before_exec or result.error_in_exec
    print("value", result.result, type(error).__name__)
"""

PAGED = SHELL + """
cell("import numpy, pagecast")
cell("%%pagecast --memory 32M\\na = pagecast.zeros(10 << 20); a += 1\\nfor i in range(0, len(a), 512): a[i] = 2\\nint(a.sum())")
cell("%%pagecast\\nf'{pagecast.budget() > 64 << 20} {int(a.sum())}'")
"""

PLAIN = SHELL + """
cell("%%pagecast --memory 32M\\nb = 6 * 7\\nb")
cell("%%pagecast\\nb;")
cell("%%pagecast\\nb / 0")
cell("%%pagecast --memory much\\nb")
cell("%%pagecast --memory 15.9M\\nb")
cell("b + 1")
"""


def test_a_cell_is_paged_within_its_memory_and_says_what_it_did(tools, disk_dir):
    done = tools.run(tools.pagecast, "run", "--memory", "512M", "--backing", disk_dir, "--", sys.executable, "-c", PAGED, env=PATH)
    assert done.returncode == 0, done.stderr
    ones = 10 << 20
    said = [line for line in done.stdout.splitlines() if line.startswith("pagecast:")]
    values = [line for line in done.stdout.splitlines() if line.startswith("value")]
    assert values == ["value None NoneType", f"value {ones + ones // 512} NoneType", f"value True {ones + ones // 512} NoneType"]
    first = re.fullmatch(r"pagecast: [\d.e+-]+ s, of which threads waited [\d.e+-]+ s for pages; read ([\d.]+) (.iB), wrote ([\d.]+) (.iB); "
                         r"(\d+)% of the pages read were foreseen; large data may take ([\d.]+) MiB", said[0])
    assert first, said
    assert first[2] == first[4] == "MiB" and float(first[1]) > 40 and float(first[3]) > 40
    assert float(first[6]) <= 32


def test_elsewhere_a_cell_runs_as_it_is(tools):
    done = tools.run(sys.executable, "-c", PLAIN, env=PATH)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("value")] == [
        "value 42 NoneType", "value None NoneType", "value None ZeroDivisionError", "value None UsageError", "value None UsageError",
        "value 43 NoneType"]
    assert sum("pagecast run -- jupyter lab" in line for line in lines) == 3
