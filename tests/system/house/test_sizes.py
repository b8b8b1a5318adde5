# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files are concepts and no scraps, folders can be looked over, and no class does everything."""

from statistics import median

import pytest

from places import ROOT
from rooms import private_methods

PRODUCT = ["cli", "compiler", "core", "nbd", "runtime", "simulator", "speculate", "storage"]
BESIDE = ["apps", "bench", "python"]
LEAST_MEDIAN = 80   # lines
MOST_FILES = 25     # of a folder, without its README.md
MOST_PRIVATE = 40   # methods of a class


def sources(folders: list[str]):
    return [p for folder in folders for suffix in ("*.h", "*.c", "*.cpp", "*.py") for p in (ROOT / folder).rglob(suffix)]


@pytest.mark.parametrize("folders", [PRODUCT, PRODUCT + BESIDE], ids=["product", "all"])
def test_the_file_in_the_middle_is_a_concept(folders):
    lines = [len(p.read_text().splitlines()) for p in sources(folders)]
    assert len(lines) > 500
    assert median(lines) >= LEAST_MEDIAN, "small files that are one concept with a neighbour belong to it"


def test_folders_can_be_looked_over():
    folders = {p.parent for p in sources(PRODUCT + BESIDE)}
    count = {str(f.relative_to(ROOT)): sum(1 for p in f.iterdir() if p.is_file() and p.name != "README.md") for f in folders}
    assert not {folder: n for folder, n in count.items() if n > MOST_FILES}


def test_no_class_does_everything():
    found = {f"{p.relative_to(ROOT)}: {name}": n for p in sources(PRODUCT) if p.suffix != ".py"
             for name, n in private_methods(p.read_text()).items()}
    assert len(found) > 100
    assert not {name: n for name, n in found.items() if n > MOST_PRIVATE}


def test_private_methods_are_told_from_the_rest():
    assert private_methods('''
        class A final : public B<int> {
          void first();            // a class begins private
        public:
          A() : a_(1) {}
          int shown() const { return hidden(2); }
        private:
          template <class T> T hidden(T t) { return f(t); }
          static const char *name(unsigned (*of)(int));
          std::vector<int> listed() const;
          struct Inner { void not_counted(); private: void inner(); };
          A(const A &) = delete;
          int a_ = f(3), b_[kMost] = {};
          std::function<void()> called_;
        };
        struct S { void open(); private: bool closed(); };
        void A::defined() {}
    ''') == {"A": 4, "Inner": 1, "S": 1}
