# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources are in rooms, and rooms know only those below them."""

import re

import pytest

from places import ROOT
from rooms import Declarations, House, sources

# Each may include what stands before it, and all of core.
RUNTIME = ["include/pagecast", "kernel", "slices", "state", "profile", "nbd", "store", "files", "memory", "pager", "engine", "slicer", "entry",
           "process", "interpose"]
# Each may include what stands before it, and of the runtime nothing but abi.h.
COMPILER = ["loops", "prepare", "slices", "nests", "emit"]
# Each may include what stands before it.
CLI = ["text", "programs", "machine", "explain", "profile", "commands"]
# These do not know of each other: each may include core/ itself alone.
CORE = ["nest", "memory", "faults", "files", "slices", "sharing"]
# Each may include what stands before it; what runs in a copy (copy) is used as one piece, and not included.
SPECULATE = ["shared", "sandbox", "watch", "inject", "tip", "report", "control"]
# Beside them: hints by hand, a library of its own.
HAND = ["shared", "watch", "tip"]


def allowed() -> dict[str, list[str]]:
    core = ["core", *(f"core/{room}" for room in CORE)]
    runtime = [f"runtime/{room}" for room in RUNTIME]
    compiler = [f"compiler/{room}" for room in COMPILER]
    cli = [f"cli/{room}" for room in CLI]
    abi = "runtime/include/pagecast"
    return {
        "core": [], **{room: ["core"] for room in core[1:]},
        **{room: core + runtime[:i] for i, room in enumerate(runtime)},
        **{room: [abi, *compiler[:i]] for i, room in enumerate(compiler)}, "compiler": [abi, *compiler],
        "simulator": core, "simulator/sharing": ["core/sharing"], "storage": ["core/sharing"], "nbd": ["core", "core/sharing", "runtime/nbd"],
        **{f"speculate/{room}": [f"speculate/{lower}" for lower in SPECULATE[:i]] for i, room in enumerate(SPECULATE)},
        "speculate/copy": ["speculate/shared"], "speculate/hand": [abi, *(f"speculate/{room}" for room in HAND)],
        **{room: cli[:i] for i, room in enumerate(cli)}, "cli": [*cli, "speculate/control"],
        "cli/machine": ["core/memory", "runtime/kernel", "runtime/state", "cli/text", "cli/programs"],
        "cli/programs": ["core", "core/sharing", "runtime/nbd", *cli[:cli.index("cli/programs")]],
        "cli/profile": ["core/sharing", "cli/text", "cli/programs"],
        "cli/commands": ["core", "core/sharing", "runtime/nbd", "core/memory", "speculate/control", *cli[:-1]],
    }


def house() -> House:
    return House(ROOT, allowed(), [".", "compiler", "runtime/include"], ("runtime/include/pagecast",))


def test_every_source_is_in_a_room():
    assert len(house().files()) > 300
    assert not house().strangers()


def test_no_include_climbs():
    found = house().climbing()
    assert not found, "\n" + "\n".join(found)


def test_headers_declare_what_their_own_rooms_define():
    found = house().false_headers()
    assert not found, "\n" + "\n".join(found)


def test_of_the_runtime_the_compiler_includes_abi_alone():
    lines = [line for p in (ROOT / "compiler").rglob("*") if p.suffix in (".h", ".cpp")
             for line in p.read_text().splitlines() if "#include" in line]
    assert {line for line in lines if "pagecast/" in line or "runtime/" in line} == {'#include "pagecast/abi.h"'}


# System calls are in runtime/kernel, and those around the helper for NBD with it. What else includes their headers, and why.
STAND_INS = "interpose"  # they pass calls on
CONSTANTS = {"allocations": {"sys/mman.h", "sys/uio.h"}, "medium_blocks": {"sys/mman.h"}, "memory_file": {"sys/mman.h"},
             "local_store": {"linux/falloc.h"}, "reads": {"fcntl.h"},
             "named_maps": {"fcntl.h", "sys/mman.h"}, "options": {"sys/auxv.h"}}  # names, and types


def system_headers(text: str) -> set[str]:
    return set(re.findall(r"^#include <((?:sys|linux)/[^>]*|unistd\.h|fcntl\.h|poll\.h|sched\.h|c?signal(?:\.h)?|spawn\.h)>", text, re.M))


def test_system_calls_are_in_the_kernels_room():
    outside = {p: p.read_text() for p in sources(ROOT, "runtime")
               if p.parent.name not in ("kernel", STAND_INS) and p.stem != "helper_start"}
    assert len(outside) > 100
    used = {p.stem: found for p, text in outside.items() if (found := system_headers(text))}
    assert used == CONSTANTS
    called = re.compile(r"\b(?:nano|u)sleep\(|\bsyscall\(|\bget(?:pid|rusage)\(|\bfcntl\(|\bfallocate\(")
    assert not {str(p.relative_to(ROOT)) for p, text in outside.items() if called.search(text)}


@pytest.fixture
def planted(tmp_path):
    """Says what is wrong with a house of two rooms, `upper` on `lower`, that has the files of the given texts."""

    def problems(**texts: str) -> list[str]:
        files = {"lower_a.h": "", "upper_b.h": "", **{name.replace("__", "."): text for name, text in texts.items()}}
        for name, text in files.items():
            room, file = name.split("_", 1)
            (tmp_path / "house" / room).mkdir(parents=True, exist_ok=True)
            (tmp_path / "house" / room / file).write_text(text)
        return House(tmp_path, {"house/lower": [], "house/upper": ["house/lower"]}, ["."]).problems()
    return problems


def test_an_arrow_that_climbs_is_found(planted):
    assert not planted(upper_b__cpp='#include "house/lower/a.h"\n#include "b.h"\n#include <b.h>\n#include "llvm/b.h"\n')
    assert "house/lower must not know house/upper" in planted(lower_a__cpp='  # include "house/upper/b.h"\n')[0]
    assert "house/lower must not know house/upper" in planted(lower_a__cpp='#include "../upper/b.h"\n')[0]


def test_a_room_that_is_not_listed_is_found(planted):
    assert "attic/c.h is in a folder" in planted(attic_c__h="")[0]


def test_a_function_of_another_room_is_found(planted):
    definition = "namespace pagecast {\nint f(int a) {\n  return a;\n}\n}\n"
    assert not planted(upper_b__h="namespace pagecast { int f(int); }\n", upper_b__cpp=definition)
    assert planted(lower_a__h="namespace pagecast {\nint f(int);\n}\n", upper_b__cpp=definition) == [
        "house/lower/a.h declares pagecast::f, which house/upper defines"]


def test_a_member_of_another_room_is_found(planted):
    header = "namespace pagecast { class C : D<int> { public: C(); void g(void (*then)()) const; }; }\n"
    assert planted(lower_a__h=header, lower_a__cpp="pagecast::C::C() : a_{1}, b_(2) {}\n",
                   upper_b__cpp="namespace pagecast { void C::g(void (*then)()) const { then(); } }\n") == [
        "house/lower/a.h declares pagecast::C::g, which house/upper defines"]


def test_a_variable_of_another_room_is_found(planted):
    found = planted(lower_a__h="extern std::atomic<int> seen;\n", upper_b__cpp="std::atomic<int> seen{0};\n")
    assert found == ["house/lower/a.h declares seen, which house/upper defines"]


def test_what_is_private_to_a_file_is_nobodys(planted):
    private = "namespace { int f(int a) { return a; } }\nint g() { int f(3); return f; }\n"
    assert not planted(lower_a__h="int f(int);\n", upper_b__cpp=private)


def test_declarations_are_told_from_the_rest():
    seen = Declarations('''
        // int comment();
        #define MACRO(name) int name()
        template <class T, unsigned n = (2 > 1)> class Ring { T at() const { return T{}; } void push(const T &); };
        struct S { uint32_t bits : 5; S() : a(1), b{2} {} int (*pointer)(int); static int made(); int a = f(2), b; };
        extern "C" { __attribute__((visibility("default"))) void *malloc(size_t size) { return "}{"; } }
        enum class Kind : int { kOne = g(1), kTwo };
        inline constexpr unsigned kMost = h(3);
        S S::twice(const S &s) noexcept(true) { if (s.a) { return {}; } return S{}; }
        auto late(int) -> int;
    ''')
    assert seen.declared == {"Ring::push", "S::made", "late"}
    assert {"Ring::at", "S::S", "S::a", "S::bits", "S::twice", "malloc", "kMost"} <= seen.defined
    assert not {"comment", "MACRO", "f", "g", "h"} & (seen.defined | seen.declared)
