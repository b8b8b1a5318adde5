# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Test suites that are run as a whole under `pagecast speculate`: of programs that read files. Every single test is
told by name, so that two runs can be compared test by test."""

import re
from collections.abc import Callable
from dataclasses import dataclass

Results = dict[str, str]

# Debian patches inputs of automake: without these words make would want to run it.
AS_SHIPPED = "export AUTOMAKE=: ACLOCAL=: AUTOCONF=: AUTOHEADER=: MAKEINFO=: FORCE_UNSAFE_CONFIGURE=1"
CONFIGURE = f"{AS_SHIPPED}; ./configure --quiet --disable-dependency-tracking --disable-nls CFLAGS=-O1"


@dataclass(frozen=True)
class Suite:
    name: str
    what: str
    build: str
    test: str
    results: Callable[[str], Results]
    needs: tuple[str, ...] = ()


def automake(log: str) -> Results:
    """`PASS: name`, and `PASS: name 3 - text` of those that report their parts."""
    found = re.findall(r"^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): (.+?)\s*$", log, re.MULTILINE)
    return {name: state for state, name in found}


def autotest(log: str) -> Results:
    """`  3: mixing options      ok`, or FAILED, skipped, expected failure with the line of the test behind it."""
    found = re.findall(r"^ *(\d+: .+?) {2,}(ok|FAILED|skipped|expected failure|UNEXPECTED PASS)\b", log, re.MULTILINE)
    return dict(found)


def testfixture(log: str) -> Results:
    """`select1-1.1... Ok`; what is told between those two words is of the test that failed."""
    results: Results = {}
    for name, rest in re.findall(r"^(\S+)\.\.\.(.*)$", log, re.MULTILINE):
        results[name] = "ok" if rest.strip() == "Ok" else "failed"
    return results


_SQLITE = ("select1 select4 join where insert delete update index trans lock pager1 wal shared vacuum collate1 "
           "func expr aggnested in subquery trigger1 malloc io pragma backup incrblob attach tempdb bigfile")


def in_tests(name: str, what: str) -> Suite:
    """One of automake's, whose tests lie in the folder tests."""
    return Suite(name, what, build=f"{CONFIGURE}; make -j$JOBS; make -C tests check TESTS=",
                 test="make -k -j$JOBS -C tests check", results=automake)


SUITES = (
    in_tests("grep", "text search: grep's own tests, most of which start it several times"),
    Suite("tar", "archives: tar's own tests, each of which writes and reads some",
          build=f"{CONFIGURE}; make -j$JOBS; make -C tests check TESTSUITEFLAGS=--list",
          test="make -k -C tests check TESTSUITEFLAGS=\"-j$JOBS $TESTSUITEFLAGS\"", results=autotest),
    Suite("sed", "the stream editor: sed's own tests",
          build=f"{CONFIGURE}; make -j$JOBS; make -j$JOBS check SUBDIRS=. TESTS=",
          test="make -k -j$JOBS check SUBDIRS=.", results=automake),
    in_tests("diffutils", "differences between files: the tests of diff, cmp, diff3 and sdiff"),
    in_tests("gzip", "compression: gzip's own tests, many of them of its scripts"),
    Suite("sqlite3", "a database: files of its own tests, in one process each",
          build="./configure --quiet --disable-shared CFLAGS=-O1; make -j$JOBS testfixture",
          test=f"for t in {_SQLITE}; do [ ! -f test/$t.test ] || ./testfixture test/$t.test; done",
          results=testfixture, needs=("tcl-dev",)),
)
