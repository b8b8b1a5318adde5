# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that are paged whatever the budget, and what is counted of them, in programs that `pagecast run` starts and others."""

import json
import sys

import pytest

from places import ROOT

PATH = {"PYTHONPATH": str(ROOT / "python")}

PAGED_AT_ONCE = """
import gc, json, numpy, pagecast
assert pagecast.loaded() and not pagecast.active()
a = pagecast.zeros((64, 1 << 14), "i8", order="F")        # 8 MiB, of 512
assert pagecast.active() and a.flags.f_contiguous and a.shape == (64, 1 << 14) and not a.any()
small = pagecast.empty(3, "f4")
assert small.shape == (3,) and pagecast.empty((), "i4").shape == () and pagecast.zeros((0, 5)).size == 0
assert pagecast.zeros([2, 3]).shape == pagecast.zeros(numpy.array([2, 3])).shape == (2, 3) and pagecast.zeros(numpy.int32(4)).size == 4
for wrong in (2.5, "3", None, (2, 2.5)):
    try:
        pagecast.zeros(wrong)
    except TypeError as error:
        assert "cannot be interpreted as an integer" in str(error), error
        continue
    raise AssertionError(wrong)
a[:] = numpy.arange(64)[:, None]
view = a[5:9]
del a
gc.collect()
assert view.sum() == (5 + 6 + 7 + 8) << 14                # the view keeps the memory
counted = pagecast.stats()
assert counted.active and counted.loaded and counted.why_not is None and counted.budget_bytes > 0
from pagecast import _statistics
print(json.dumps({"regions": _statistics._counted()["budget"]["regions"]}))
"""

SEQUENTIAL = """
import json, dataclasses, numpy, pagecast
a = pagecast.empty(12 << 20)                              # 96 MiB, of 32
a[:] = numpy.arange(a.size)
before = pagecast.stats()
with pagecast.sequential(a) as parts:
    total = sum(float(part.sum()) for part in parts)
did = pagecast.stats() - before
assert total == a.size * (a.size - 1) / 2, total
try:
    with pagecast.sequential(a, write=True):
        raise KeyError
except KeyError:
    pass
print(json.dumps({"parts": len(parts), "share": did.foreseen_share, **dataclasses.asdict(did)}))
"""

FILE = """
import numpy, pagecast
a = pagecast.memmap("rows", "u2", "w+", shape=(1 << 10, 1 << 11))
a[:] = numpy.arange(a.size).reshape(a.shape)
a.flush()
again = pagecast.memmap("rows", "u2", "r", shape=(1 << 10, 1 << 11))
pagecast.prefetch(again[::2])
assert (again == a).all()
from pagecast import _statistics
print(_statistics._counted()["files"]["regions"])
"""

PLAIN = """
import pagecast, numpy
assert not pagecast.loaded() and pagecast.stats() == pagecast.Stats(why_not="the program was not started by pagecast run")
assert pagecast.zeros((2, 3), "i2", "F").flags.f_contiguous and pagecast.empty(5).base is None
a = pagecast.memmap("plain", "i4", "w+", shape=1000)
with pagecast.sequential(a, write=True) as parts:
    for part in parts:
        part[:] = 7
assert numpy.fromfile("plain", "i4").sum() == 7000
for wrong, error in (((-1,), ValueError), ((2, -2), ValueError)):
    try:
        pagecast.zeros(wrong)
    except error:
        continue
    raise AssertionError(wrong)
try:
    pagecast.empty(3, object)
except TypeError as error:
    print(error)
"""


def run_python(tools, disk_dir, memory, program, cwd=None):
    done = tools.run(tools.pagecast, "run", "--memory", memory, "--backing", disk_dir, "--", sys.executable, "-c", program, env=PATH, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done


def test_an_array_is_paged_though_all_would_fit(tools, disk_dir):
    assert json.loads(run_python(tools, disk_dir, "512M", PAGED_AT_ONCE).stdout)["regions"] >= 1


def test_a_sequential_array_is_foreseen_and_released(tools, disk_dir):
    did = json.loads(run_python(tools, disk_dir, "32M", SEQUENTIAL).stdout)
    pages = (96 << 20) >> 12
    assert did["parts"] == 24
    assert did["read_bytes"] > 48 << 20 and did["wall_s"] > 0
    assert did["share"] > 0.9
    assert did["released_pages"] > pages / 2


def test_a_file_is_hinted_though_it_would_fit(tools, disk_dir, tmp_path):
    assert int(run_python(tools, disk_dir, "256M", FILE, cwd=tmp_path).stdout) == 2


def test_outside_pagecast_run_arrays_are_numpys(tools, tmp_path):
    done = tools.run(sys.executable, "-c", PLAIN, env=PATH, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "elements of object are Python objects, whose data lie elsewhere; use numpy.empty\n"), done.stderr


def test_what_cannot_be_paged_is_said_once_and_works(tools):
    program = "import pagecast; a = pagecast.zeros(1 << 20); pagecast.zeros(9); a += 1; print(a.sum(), pagecast.active(), pagecast.stats().why_not)"
    options = {"LD_PRELOAD": str(tools.runtime), "PAGECAST_BACKEND": "pager", "PAGECAST_BACKING": "/nowhere", "PAGECAST_MEMORY": "512M"}
    done = tools.run(sys.executable, "-c", program, env={**PATH, **options})
    assert (done.returncode, done.stderr.count("the program asks for paging")) == (0, 1), done.stderr
    assert done.stdout.startswith("1048576.0 False ") and "/nowhere" in done.stdout


def test_without_numpy_hints_work_and_arrays_say_what_to_install(tools):
    program = ("import sys; sys.modules['numpy'] = None; import pagecast; pagecast.prefetch(bytearray(8))\n"
               "try: pagecast.zeros(3)\nexcept ImportError as error: print(error)")
    done = tools.run(sys.executable, "-c", program, env=PATH)
    assert done.stdout == "pagecast makes numpy's arrays, and numpy is not installed: pip install numpy\n", done.stderr


@pytest.mark.parametrize("name", ["empty", "zeros", "memmap", "prefetch", "release", "sequential", "stats", "loaded"])
def test_each_function_says_its_cost_and_its_threads(name):
    sys.path.insert(0, PATH["PYTHONPATH"])
    import pagecast
    said = " ".join(getattr(pagecast, name).__doc__.split())
    assert name == "empty" or ("Cost:" in said and "Any thread." in said)
