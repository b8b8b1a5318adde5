# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast explain: what the pass did, from real compilations; what a run measured, from real runs; and every error."""

import json
import os
import pty
import shutil
import signal
import subprocess

import pytest

SOURCE = """double *a, *b;
int *where;

double product(long n, long m) {
  double s = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      s += a[i * m + j] * b[j];
  return s;
}

void gather(long n) {
  for (long i = 0; i < n; i++)
    a[i] = b[where[i]];
}

struct node { struct node *next; double value; };
double list(const struct node *p) {
  double s = 0;
  for (; p; p = p->next)
    s += p->value;
  return s;
}
"""
LINES = SOURCE.splitlines()


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "kernels.c"
    path.write_text(SOURCE)
    return path


def explained(tools, *arguments, **kw) -> dict:
    done = tools.run(tools.pagecast, "explain", "--json", *arguments, **kw)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(tools, *arguments, lines=1, **kw) -> str:
    done = tools.run(tools.pagecast, "explain", *arguments, **kw)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == lines, done.stderr
    return done.stderr


def remarks_in(explanation: dict) -> list[dict]:
    return [r for f in explanation["functions"] for n in f["nests"] for r in n["remarks"]]


def remark(explanation: dict, **wanted) -> dict:
    found = [r for r in remarks_in(explanation) if all(r[k] == v for k, v in wanted.items())]
    assert len(found) == 1, (wanted, remarks_in(explanation))
    return found[0]


def test_every_reference_with_its_line(built, source):
    all = explained(built, source)
    assert all["version"] == 1 and all["run"] is None and all["sites_without_remark"] == []
    assert [f["name"] for f in all["functions"]] == ["product", "gather", "list"]
    matrix = remark(all, name="Hinted", array="a", line=8)
    assert matrix["source"] == LINES[7].strip() and matrix["kind"] == "done" and matrix["measured"] is None
    assert LINES[7][matrix["column"] - 1] == "a"
    assert "reuse" in matrix["text"] and "Strides" in matrix["arguments"] and "String" not in matrix["arguments"]
    assert remark(all, name="HintedIndirect", array="b", line=14)["kind"] == "done"
    why_not = remark(all, name="UnknownTripCount")
    assert why_not["kind"] == "refused" and why_not["source"] == LINES[19].strip() and "trip count" in why_not["text"]


def test_text_is_aligned_and_fits(built, source, tmp_path):
    source.write_text(SOURCE.replace("return s;\n}\n\nvoid", "return s; /* " + "long " * 40 + "*/\n}\n\nvoid")
                      .replace("s += a[i * m + j] * b[j];", "s += a[i * m + j] * b[j]; // " + "é" * 120))
    done = built.run(built.pagecast, "explain", source)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100 and max(map(len, lines)) > 95
    assert "\033" not in done.stdout
    assert len([l for l in lines if l in ("product", "gather", "list")]) == 3
    columns = {l.index(name) for l in lines for name in (" Hinted ", " HintedIndirect ", " UnknownTripCount ") if name in l}
    assert len(columns) == 1, done.stdout
    # The source line is said once, with its two references below, and the line of a nest in its heading alone.
    assert sum("s += a[i * m + j] * b[j];" in l for l in lines) == 1
    assert [l for l in lines if "for (; p; p = p->next)" in l] == ["  nest at 20: for (; p; p = p->next)"], done.stdout


def test_colours_only_on_a_terminal(built, source):
    def on_terminal(**env):
        ours, theirs = pty.openpty()
        child = os.fork()
        if child == 0:
            os.dup2(theirs, 1)
            os.execve(built.pagecast, ["pagecast", "explain", str(source)], {"PATH": os.environ["PATH"], **env})
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:  # the end, on a terminal
            pass
        os.close(ours)
        assert os.waitpid(child, 0)[1] == 0
        return text.decode()

    assert "\033[" in on_terminal(TERM="xterm")
    assert "\033[" not in on_terminal(TERM="xterm", NO_COLOR="1")
    assert "\033[" not in on_terminal(TERM="dumb")


def test_cxx_names_and_options(built, tmp_path):
    (tmp_path / "scale.h").write_text("inline void scale(FLOAT *p, long n) {\n  for (long i = 0; i < n; i++)\n    p[i] *= 2;\n}\n")
    (tmp_path / "v.cpp").write_text('#include "scale.h"\nnamespace deep { void twice(FLOAT *p, long n) { scale(p, n); } }\n')
    all = explained(built, "v.cpp", "--", "-DFLOAT=double", "-std=c++20", "-c", "-o", "v.o", "-MMD", "v.cpp", cwd=tmp_path)
    assert all["functions"][0]["name"] == "deep::twice(double*, long)" and all["functions"][0]["symbol"].startswith("_Z")
    inlined = remark(all, name="Hinted")
    assert inlined["file"].endswith("scale.h") and inlined["source"] == "p[i] *= 2;" and inlined["array"] == "p"
    assert {p.name for p in tmp_path.iterdir()} == {"scale.h", "v.cpp"}  # it is compiled to nothing


def test_fortran(built, tmp_path):
    if not shutil.which("flang-new-19"):
        pytest.skip("flang 19 is not installed")
    (tmp_path / "m.f90").write_text(
        "module m\ncontains\n  subroutine s(n)\n    integer, intent(in) :: n\n    integer :: i\n"
        "    real(8) :: x(100000)\n    common /block/ x\n    do i = 1, n\n      x(i) = x(i) + i\n    end do\n  end subroutine\nend module\n")
    all = explained(built, "m.f90", "--", "-J", ".", cwd=tmp_path)
    assert [f["name"] for f in all["functions"]] == ["m::s"]
    hinted = remark(all, name="Hinted")
    assert hinted["array"] == "block" and hinted["source"] == "x(i) = x(i) + i" and hinted["arguments"]["Array"] == "block_"
    assert [p.name for p in tmp_path.iterdir()] == ["m.f90"]


def test_record_says_the_same_as_the_source(built, source):
    done = built.run(built.cc, "-O2", "-g", "-fsave-optimization-record", "-c", source.name, cwd=source.parent)
    assert done.returncode == 0, done.stderr
    record = source.with_suffix(".opt.yaml")
    assert "!Analysis" in record.read_text() or record.read_text().count("Pass:") > record.read_text().count("pagecast")
    from_record, from_source = (explained(built, f, cwd=source.parent)["functions"] for f in (record.name, source.name))
    assert from_record == from_source
    # Elsewhere, too, the source is found: beside the record.
    assert remark(explained(built, record, cwd="/"), name="UnknownTripCount")["source"] == LINES[19].strip()


NEW_REMARKS = """--- !Passed
Pass:            pagecast
Name:            Hinted
DebugLoc:        { File: new.c, Line: 5, Column: 7 }
Function:        f
Args:
  - Array:           x
  - String:          ' read, nest at line '
  - Nest:            '4:3'
...
--- !Passed
Pass:            inline
Name:            Inlined
Function:        f
Args:
  - String:          'not ours'
...
--- !Missed
Pass:            pagecast
Name:            NeverSeenBefore
DebugLoc:        { File: new.c, Line: 9, Column: 2 }
Function:        f
Args:
  - String:          'refused, as '
  - Assumption:      no aliasing
    DebugLoc:        { File: new.c, Line: 1, Column: 1 }
  - String:          ' does not hold'
...
--- !Analysis
Pass:            pagecast
Name:            Hinted
DebugLoc:        { File: new.c, Line: 2, Column: 7 }
Function:        f
Args:
  - Array:           y
  - String:          ' in '
  - Nest:            '1'
...
"""


def test_unknown_remarks_and_arguments_are_shown(built, tmp_path):
    (tmp_path / "new.opt.yaml").write_text(NEW_REMARKS)
    all = explained(built, tmp_path / "new.opt.yaml")
    nests = all["functions"][0]["nests"]
    assert [(n["line"], n["column"]) for n in nests] == [(1, None), (4, 3), (None, None)]
    new = remark(all, name="NeverSeenBefore")
    assert new["kind"] == "refused" and new["text"] == "refused, as no aliasing does not hold"
    assert new["arguments"] == {"Assumption": "no aliasing"} and new["source"] is None
    assert remark(all, array="y")["kind"] == "note" and len(remarks_in(all)) == 3
    text = built.run(built.pagecast, "explain", tmp_path / "new.opt.yaml").stdout
    assert "nest at 4" in text and "NeverSeenBefore" in text and "not ours" not in text


PROGRAM = """#include <stdio.h>
#include <stdlib.h>
static double *data;
__attribute__((noinline)) void fill(long n) {
  for (long i = 0; i < n; i++)
    data[i] = i % 7;
}
__attribute__((noinline)) double sum(long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += data[i];
  return s;
}
__attribute__((noinline)) void never(long n) {
  for (long i = 0; i < n; i++)
    data[i] = 1;
}
int main(int count, char **word) {
  long n = 6L << 20;
  (void)word;
  data = malloc(n * sizeof *data);
  fill(n);
  if (count > 1)
    never(n);
  printf("%g\\n", sum(n));
}
"""


@pytest.fixture(scope="module")
def run(built, tmp_path_factory):
    """A directory with a source and the statistics of a run of it under a third of its data."""
    directory = tmp_path_factory.mktemp("run")
    (directory / "p.c").write_text(PROGRAM)
    assert built.run(built.cc, "-O2", "-g", "p.c", "-o", "p", cwd=directory).returncode == 0
    done = built.run(built.pagecast, "run", "--memory", "16M", "--backing", "/var/tmp", "--stats", "s.json", "--", "./p", cwd=directory)
    assert done.returncode == 0, done.stderr
    figures = json.loads((directory / "s.json").read_text())
    if not figures["active"]:
        pytest.skip(figures["why_not"])
    return directory


def line_of(statement: str) -> int:
    return next(i for i, l in enumerate(PROGRAM.splitlines(), 1) if statement in l)


def test_measurements_stand_beside_their_lines(built, run):
    all = explained(built, "--run", "s.json", "p.c", cwd=run)
    sites = {s["line"]: s for s in json.loads((run / "s.json").read_text())["sites"]}
    measured = remark(all, name="Hinted", line=line_of("s += data[i]"))["measured"]
    assert measured["prefetched"] > 1000
    assert measured == {k: v for k, v in sites[line_of("s += data[i]")].items() if isinstance(v, int) and k in measured}
    assert {"entries", "prefetched", "hit", "late", "released"} <= set(measured)
    assert remark(all, name="Hinted", line=line_of("data[i] = i % 7"))["measured"]["entries"] == 1
    assert remark(all, name="Hinted", line=line_of("data[i] = 1;"))["measured"] is None
    assert all["run"]["active"] is True and all["sites_without_remark"] == []
    assert all["run"]["faults"]["prefetched_hit"] > 1000


def test_what_has_no_counterpart_is_said(built, run, tmp_path):
    text = built.run(built.pagecast, "explain", "--run", "s.json", "p.c", cwd=run).stdout
    assert text.count("run: no hints: too few iterations each time, or not reached") == 1 and text.count("run: entries 1") == 2
    figures = json.loads((run / "s.json").read_text())
    figures["sites"] += [
        {**figures["sites"][0], "line": 999, "name": "gone", "prefetched": 77, "newly_counted": 5},
        {**figures["sites"][0], "file": "other.c", "function": "other"},
        {**figures["sites"][0], "file": "", "function": "", "line": 0, "column": 0, "name": "by hand"}]
    (tmp_path / "more.json").write_text(json.dumps(figures))
    strangers = explained(built, "--run", tmp_path / "more.json", "p.c", cwd=run)["sites_without_remark"]
    assert [(s["name"], s["file"]) for s in strangers if s["file"] != "other.c"] == [("gone", "p.c"), ("by hand", None)]
    assert strangers[0]["measured"]["newly_counted"] == 5 and strangers[2]["line"] is None
    lines = built.run(built.pagecast, "explain", "--run", tmp_path / "more.json", "p.c", cwd=run).stdout
    text = " ".join(lines.split())  # where a line is broken goes by the counts in it
    assert "p.c:999 gone in " in text and "prefetched 77" in text and "newly counted 5" in text and "_hit" not in text and "prefetched hit" in text
    assert "by hand" in text and "1 site of the run is in another file" in text


def test_statistics_of_another_program_are_refused(built, run, source, tmp_path):
    """Whether the source has another name or the same. Where the program is not known, or has the file, that is only said."""
    said = refused(built, "--run", run / "s.json", source)
    assert f"is of {run / 'p'}, and none of the lines that it measured is in {source}" in said and "pagecast run --stats" in said
    (tmp_path / "p.c").write_text("void f(double *x, long n) {\n  for (long i = 0; i < n; i++)\n    x[i] = 1;\n}\n" + PROGRAM.replace("data", "more"))
    assert f"is of {run / 'p'}, and none of the lines" in refused(built, "--run", run / "s.json", tmp_path / "p.c")
    figures = json.loads((run / "s.json").read_text())
    for unknown in ({"program": ""}, {"compiled_libraries": 1}, {"program": str(source)}):  # that file has the name in it
        (tmp_path / "s.json").write_text(json.dumps({**figures, **unknown}))
        source.write_text(SOURCE + "/* kernels.c */\n")
        text = " ".join(built.run(built.pagecast, "explain", "--run", tmp_path / "s.json", source).stdout.split())
        assert "None of its lines is in what is explained here" in text and "run: no hints" not in text
    assert "None of its lines" not in built.run(built.pagecast, "explain", "--run", "s.json", "p.c", cwd=run).stdout


def test_a_run_without_hints_is_said_to_be_one(built, run):
    done = built.run(built.pagecast, "run", "--memory", "16M", "--backing", "/var/tmp", "--option", "hints=0", "--stats", "off.json", "--", "./p", cwd=run)
    assert done.returncode == 0
    text = " ".join(built.run(built.pagecast, "explain", "--run", "off.json", "p.c", cwd=run).stdout.split())
    assert "Hints were off in this run (--option hints=0)" in text
    assert "no line numbers" not in text and "run: no hints" not in text


def test_a_run_of_the_plain_program_is_said_to_be_one(built, run, tmp_path):
    figures = json.loads((run / "s.json").read_text())
    (tmp_path / "plain.json").write_text(json.dumps({**figures, "compiled": False, "sites": []}))
    text = " ".join(built.run(built.pagecast, "explain", "--run", tmp_path / "plain.json", "p.c", cwd=run).stdout.split())
    assert "not compiled with pagecast cc" in text and "run: " not in text


def test_counts_of_zero_are_left_out(built, run, tmp_path):
    figures = json.loads((run / "s.json").read_text())
    for site in figures["sites"]:
        site.update({k: 0 for k, v in site.items() if isinstance(v, int) and k not in ("line", "column", "indirect", "late")}, late=3)
    figures["sites"].append({**figures["sites"][0], "file": "other.c", "function": "other", "line": 998})
    figures["sites"].append({**figures["sites"][0], "file": "other.c", "function": "other", "line": 999})
    (tmp_path / "zero.json").write_text(json.dumps(figures))
    text = built.run(built.pagecast, "explain", "--run", tmp_path / "zero.json", "p.c", cwd=run).stdout
    assert "run: late 3\n" in text and "2 sites of the run are in other files; explain those files for more." in text


def test_what_faults_foretold_stands_by_itself(built, run, tmp_path):
    """Fault streams have a site, too, but no line: they come and go with the load of the machine."""
    figures = json.loads((run / "s.json").read_text())
    figures["sites"] = [s for s in figures["sites"] if s["name"] != "history"]
    (tmp_path / "without.json").write_text(json.dumps(figures))
    assert explained(built, "--run", tmp_path / "without.json", "p.c", cwd=run)["fault_streams"] is None
    figures["sites"].append({**figures["sites"][0], "file": "", "function": "", "line": 0, "column": 0, "name": "history", "prefetched": 77})
    figures["fault_streams"] = {"used": 12, "wasted": 5, "switched_off": 3, "forgone": 4}
    (tmp_path / "with.json").write_text(json.dumps(figures))
    all = explained(built, "--run", tmp_path / "with.json", "p.c", cwd=run)
    assert all["fault_streams"]["prefetched"] == 77 and all["fault_streams"]["switched_off"] == 3 and all["sites_without_remark"] == []
    text = built.run(built.pagecast, "explain", "--run", tmp_path / "with.json", "p.c", cwd=run).stdout
    assert "Foretold by faults alone" in text and "prefetched 77" in text and "switched off 3" in text and "no remark is about" not in text


def test_what_slices_cost_and_bring_is_said(built, run, tmp_path):
    figures = json.loads((run / "s.json").read_text())
    assert figures["slices"] == explained(built, "--run", "s.json", "p.c", cwd=run)["slices"] == []
    one = {"file": "p.c", "function": "gather", "line": 7, "cpu_s": 1.5, "pager_cpu_s": 0.25, "waited_s": 0.125, "saved_s": -2.5,
           "trials": 4, "switched_off": 1, "off": True}
    figures["slices"] = [one, {**one, "line": 9, "saved_s": None, "switched_off": 0, "off": False}, {**one, "file": "other.c", "line": 11}]
    (tmp_path / "slices.json").write_text(json.dumps(figures))
    slices = explained(built, "--run", tmp_path / "slices.json", "p.c", cwd=run)["slices"]
    assert [(s["line"], s["cpu_s"], s["saved_s"]) for s in slices] == [(7, 1.75, -2.5), (9, 1.75, None), (11, 1.75, -2.5)]
    text = built.run(built.pagecast, "explain", "--run", tmp_path / "slices.json", "p.c", cwd=run).stdout
    said = [" ".join(part.split()) for part in text.split("Slices of the run:")[1].split("\n  7 ")[1].split("\n  9 ")]
    assert said[0] == ("in gather: 1.750 s of processor time, 0.125 s waited for it; lost 2.500 s, switched off 1 time, and at the end")
    assert "not compared with the nest without it, switched off 0 times" in said[1] and "11 in" not in said[1]


def test_nothing_is_said_of_single_lines_where_the_program_has_none(built, run, tmp_path):
    figures = json.loads((run / "s.json").read_text())
    for site in figures["sites"]:
        site.update(line=0, column=0, file="", function="")
    (tmp_path / "bare.json").write_text(json.dumps(figures))
    text = built.run(built.pagecast, "explain", "--run", tmp_path / "bare.json", "p.c", cwd=run).stdout
    assert "has no line numbers" in text and "was not entered" not in text, text


def test_sites_alike_go_to_one_remark_each(built, run, tmp_path):
    """The same line inlined into two functions has two remarks, two sites, and the function tells them apart."""
    (tmp_path / "t.c").write_text("static inline void clear(double *p, long n) {\n  for (long i = 0; i < n; i++)\n    p[i] = 3;\n}\n"
                                  "void one(double *p, long n) { clear(p, n); }\nvoid two(double *p, long n) { clear(p, n); }\n")
    bare = remarks_in(explained(built, tmp_path / "t.c"))
    column = next(r["column"] for r in bare if r["name"] == "Hinted")
    figures = json.loads((run / "s.json").read_text())
    site = {**figures["sites"][0], "file": "elsewhere/t.c", "line": 3, "column": column, "name": "p"}
    figures["sites"] = [{**site, "function": "two", "entries": 2}, {**site, "function": "one", "entries": 1}]
    (tmp_path / "s.json").write_text(json.dumps(figures))
    all = explained(built, "--run", tmp_path / "s.json", tmp_path / "t.c")
    entries = {f["name"]: [r["measured"]["entries"] for n in f["nests"] for r in n["remarks"] if r["measured"]]
               for f in all["functions"]}
    assert entries == {"one": [1], "two": [2]} and all["sites_without_remark"] == []


def test_run_in_which_nothing_was_paged(built, run):
    done = built.run(built.pagecast, "run", "--memory", "512M", "--stats", "fits.json", "--", "./p", cwd=run)
    assert done.returncode == 0
    text = built.run(built.pagecast, "explain", "--run", "fits.json", "p.c", cwd=run).stdout
    assert "Nothing was paged" in text and "run:" not in text


VECTORS = """#include <algorithm>
#include <vector>
double total(std::vector<double> &a, std::vector<double> &b) {
  double s = 0;
  for (unsigned long i = 0; i < a.size(); i++) s += a[i] * b[i];
  std::sort(b.begin(), b.end());
  return s;
}
"""


def test_lines_of_libraries_are_counted_and_shown_on_request(built, tmp_path):
    (tmp_path / "v.cpp").write_text(VECTORS)
    short = built.run(built.pagecast, "explain", tmp_path / "v.cpp").stdout
    assert "stl_" not in short and "include/c++" not in short
    assert short.splitlines()[-1].startswith("In lines of libraries: ") and short.endswith("; --all shows them.\n")
    all = built.run(built.pagecast, "explain", "--all", tmp_path / "v.cpp").stdout
    assert "stl_algo" in all and "In lines of libraries" not in all and len(all.splitlines()) > len(short.splitlines())
    assert all.index(VECTORS.splitlines()[4].strip()) < all.index("stl_"), "the file itself comes first"
    found = remarks_in(explained(built, tmp_path / "v.cpp"))
    assert {r["library"] for r in found} == {True, False} and not any(r["library"] for r in found if r["file"].endswith("v.cpp"))
    own = sum(r["name"].startswith("Hinted") for r in found if not r["library"])
    # A long name of the folder may have put the end of the sentence on the next line.
    assert " ".join(short.split()).startswith(f"{tmp_path}/v.cpp: {own} groups of references hinted")


def test_options_of_the_compiler_without_a_separator(built, source):
    done = built.run(built.pagecast, "explain", source, "-O3")
    assert done.returncode == 2 and "-O3" in done.stderr and "options of the compiler follow --" in done.stderr, done.stderr


def test_errors_of_the_source(built, source, tmp_path):
    assert "none.c does not exist" in refused(built, tmp_path / "none.c")
    assert "is no file" in refused(built, tmp_path)
    (tmp_path / "x.txt").write_text("")
    assert "has no suffix of C" in refused(built, tmp_path / "x.txt")
    bad = tmp_path / "bad.c"
    bad.write_text("int main(void) { return x; }\n")
    said = built.run(built.pagecast, "explain", bad)
    assert said.returncode == 2 and "undeclared identifier 'x'" in said.stderr and "bad.c does not compile" in said.stderr
    assert "-O0, at which the pass does not run; give -O1 or higher" in refused(built, source, "--", "-O2", "-O0")
    (tmp_path / "empty.c").write_text("int one(void) { return 1; }\n")
    assert "nothing to say" in refused(built, tmp_path / "empty.c")


DISTANCES = """double grid[2000][512], *rain;
static double dot(const double *x, const double *y, long n) { double s = 0; for (long i = 0; i < n; i++) s += x[i] * y[i]; return s; }
double caller(const double *wind, long n) { return dot(wind, rain, n); }
double column(long k) { double s = 0; for (long i = 0; i < 2000; i++) s += grid[i][k]; return s; }
double back(const double *a, long n) { double s = 0; for (long i = n; i-- > 0;) s += a[i]; return s; }
long letters(const char *text, long n) { long s = 0; for (long i = n; i-- > 0;) s += text[i]; return s; }
void add(double *restrict to, const double *from, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      to[j] += from[i * m + j];
}
"""


def test_distances_are_said_in_words(built, tmp_path):
    (tmp_path / "d.c").write_text(DISTANCES)
    done = built.run(built.pagecast, "explain", tmp_path / "d.c", "--", "-O2")
    text = " ".join(done.stdout.split())
    for said in ("wind Hinted read: 8 bytes each iteration", "rain Hinted read: 8 bytes each iteration",
                 "grid Hinted read: 4096 bytes each iteration", "a Hinted read: 8 bytes back each iteration", "text Hinted read: 1 byte back each iteration",
                 "from Hinted read: 8 bytes each iteration, 8 * m bytes each iteration of the loop outside",
                 "to Hinted read and written: 8 bytes each iteration, the same bytes in each iteration of the loop outside"):
        assert said in text, text
    assert "strides" not in text and "%" not in text


def test_a_loop_that_became_a_call_is_said_to_be_one(built, tmp_path):
    (tmp_path / "m.c").write_text("void clear(double *d, long n) {\n  for (long i = 0; i < n; i++)\n    d[i] = 0;\n}\n"
                                  "void move(double *restrict d, double *restrict s, long n) {\n  for (long i = 0; i < n; i++)\n"
                                  "    d[i] = s[i];\n}\n")
    text = " ".join(built.run(built.pagecast, "explain", tmp_path / "m.c", "--", "-O2").stdout.split())
    assert "d Hinted overwritten: byte after byte, by memset" in text and "1 byte" not in text, text
    assert "s Hinted read: byte after byte, by memcpy" in text, text


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_nothing(built, tmp_path, sent):
    """The compiler waits for a header that does not come, and the command alone is interrupted."""
    os.mkfifo(tmp_path / "never.h")
    (tmp_path / "waits.c").write_text('#include "never.h"\n')
    folder = tmp_path / "tmp"
    folder.mkdir()
    with subprocess.Popen([built.pagecast, "explain", tmp_path / "waits.c"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "TMPDIR": str(folder)}) as command:
        writer = os.open(tmp_path / "never.h", os.O_WRONLY)  # returns when the compiler has opened it
        assert list(folder.glob("pagecast-explain-*"))
        command.send_signal(sent)
        said = command.communicate(timeout=60)
    os.close(writer)
    assert command.returncode == -sent and said == ("", ""), said
    assert not list(folder.iterdir())


def test_errors_of_records(built, tmp_path):
    record = tmp_path / "r.yaml"
    for text, words in (("hello: world\n", "does not begin with '--- !'"), ("RMRK\x01\x02", "bitstream"),
                        ("--- !Passed\nPass: pagecast\nName: [\n...\n", "yaml-cpp"), ("--- !Passed\nName: x\n...\n", "names no pass"),
                        ("", "-O1 or higher"), ("--- !Missed\nPass: inline\nName: x\n...\n", "no remarks of pagecast")):
        record.write_text(text)
        assert words in refused(built, record), text
    record.write_text(NEW_REMARKS)
    assert "leave out what follows --" in refused(built, record, "--", "-O2")


def test_errors_of_statistics(built, source, tmp_path):
    stats = tmp_path / "s.json"
    assert "cannot be read" in refused(built, "--run", stats, source)
    assert f"the statistics file {tmp_path} cannot be read: is a directory" in refused(built, "--run", tmp_path, source)
    for text, words in (("{", "not JSON, or was cut short"), ("[]", "not JSON"), ("{}", "holds no statistics of pagecast"),
                        ('{"version": 1}', "holds no statistics"), ('{"version": 2, "sites": []}', "version 2, but this pagecast reads version 1"),
                        ('{"version": 1, "sites": [{"line": "x"}]}', "wrong type")):
        stats.write_text(text)
        assert words in refused(built, "--run", stats, source), text
