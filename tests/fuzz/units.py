# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A unit is a function of a random program with its calls from main: here the random nests, and what the
shapes of shapes.py and irregular.py share."""

from dataclasses import dataclass, field

import nests
from data import BYTES, UNALIGNED, Array
from values import Scope, Slot, load


@dataclass
class Unit:
    code: list[str] = field(default_factory=list)  # at file level
    calls: list[str] = field(default_factory=list)  # in main; `r` takes the result


class Maker:
    """Makes one unit: its random numbers, a prefix for its names, the program's arrays."""

    def __init__(self, rng, index: int, arrays: list[Array]):
        self.rng, self.prefix, self.arrays = rng, f"u{index}", arrays
        self.unit = Unit()

    def array(self, fits=lambda a: True, least: int = 1) -> Array | None:
        """An array without a limit, more often a large one."""
        found = [a for a in self.arrays if a.limit is None and a.length >= least and fits(a)]
        if not found:
            return None
        return self.rng.choices(found, [8 if a.bytes > 1 << 20 else 1 for a in found])[0]

    def integers(self, least: int = 1000) -> Array:
        found = self.array(lambda a: a.element.integer, least)
        assert found, "every program has a large array of integers"
        return found

    def index(self) -> Array:
        return self.rng.choice([a for a in self.arrays if a.limit is not None])

    def number(self, value: int) -> str:
        """A number in main, which the compiler knows or not."""
        return str(value) if self.rng.random() < 0.2 else f"N({value})"

    def function(self, head: str, *body: str, linkage: str = "static NOINLINE"):
        self.unit.code += [f"{linkage} {head} {{", *(f"  {line}" for line in body), "}"]

    def call(self, arguments: str, name: str = ""):
        self.unit.calls.append(f"r += {self.prefix}{name}({arguments});")


def less(rng, most: int) -> int:
    """What a call passes for a bound of `most`: usually that, sometimes less, one or nothing."""
    return rng.choice((most, most, most, most, most, max(0, most - rng.randrange(9)), rng.randint(0, most), 1 if most else 0, 0))


@dataclass
class Binding:
    """A slot and the array behind it, for each call the arguments that make it so."""

    slot: Slot
    array: Array
    direct: bool  # under its own name: no parameter
    view: str = ""  # a type to which it is cast

    def parameter(self, restrict: bool) -> str:
        q = " restrict " if restrict else ""
        s = self.slot
        return f"{s.element.ctype} (*{q}{s.name})[{s.width}]" if s.width else f"{s.element.ctype} *{q}{s.name}"

    def argument(self, array: Array, rng) -> str:
        spare = array.bytes // self.slot.element.size - self.slot.length
        skip = rng.choice((0, rng.randint(0, spare), spare))
        if self.view:
            odd = rng.randrange(self.slot.element.size) if spare > skip else 0
            place = f"(u8 *){array.name} + {skip * self.slot.element.size + odd}"
            return f"({self.slot.element.ctype} *)({place})" if self.slot.element is not BYTES else place
        place = f"{array.name} + {skip}" if skip else array.name
        return f"({self.slot.element.ctype} (*)[{self.slot.width}])({place})" if self.slot.width else place


def bind(m: Maker, count: int) -> list[Binding]:
    """Slots for a random nest; two of them may be parts of one array."""
    rng, out = m.rng, []
    for k in range(count):
        array = m.index() if k and rng.random() < 0.3 else m.array()
        if out and rng.random() < 0.25:
            array = rng.choice(out).array
        name, length, element, view = f"p{k}", array.length, array.element, ""
        direct = array.limit is None and rng.random() < 0.3 or array.limit is not None and rng.random() < 0.5
        width = 0
        if direct:
            name = array.name
        else:
            length -= rng.choice((0, 0, 1, min(7, length // 2), length // 3))
            kind = rng.random()
            if array.limit is None and kind < 0.2 and array.element.integer and array.element.size > 1:
                element = rng.choice([BYTES] + [e for e in UNALIGNED if e.ctype == array.element.ctype + "_any"] * 2)
                view, length = element.ctype, (length * array.element.size) // element.size - 1
            elif array.limit is None and kind < 0.45 and length > 1000:
                width = rng.choice((7, 33, 64, 100, 512, 1000, 1024))
                length = max(1, length // width) * width if length >= width else length
                width = width if length % width == 0 else 0
        out.append(
            Binding(
                Slot(name, element, length, array.limit, width, array.limit is None or rng.random() < 0.3), array, direct, view
            )
        )
    return out


def random_nest(m: Maker):
    """A function of one to three random nests in a row over a few arrays."""
    rng = m.rng
    bindings = bind(m, rng.choice((1, 2, 2, 3, 3, 4)))
    f = nests.Function(rng, m.prefix, [b.slot for b in bindings], rng.random() < 0.3)
    scope = Scope(rng, f.slots, [], ["sum", "y"], ["x"])
    f.emit(1, f"u64 sum = {rng.randrange(99)}, y = 1;")
    f.emit(1, "double x = 1;")
    outer = rng.random() < 0.2
    if outer:  # a loop over time around them
        steps = rng.randint(2, 4)
        f.emit(1, f"for (int t = 0; t < {f.bound(steps).text}; t++) {{")
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        total = int(10 ** rng.uniform(2.5, 5.5 if not outer else 5))
        nests.nest(f, scope, 2 if outer else 1, nests.trip_counts(rng, rng.choices((1, 2, 3, 4), (5, 6, 3, 1))[0], total))
    if outer:
        f.emit(1, "}")
    if f.jumps_out:
        f.emit(0, "out:")
    f.emit(1, "return sum ^ y ^ (u64)(i64)x;")
    finish(m, f, bindings)


def part(m: Maker, f: nests.Function):
    """The helper that nests call with a stretch of an array."""
    rng, e = m.rng, f.slots[0].element
    leaf = rng.choice(e.leaves)
    inside = Scope(rng, [Slot("p", e, 1)], [], ["s"], [])
    change = f"p[i]{leaf.path} = ({leaf.ctype})(0.5 * p[i]{leaf.path} + 3);" if leaf.real else f"p[i]{leaf.path} ^= 5;"
    value = (load(inside, leaf.real) or "s").replace("[0]", "[i]")
    if f.slots[0].limit is not None or rng.random() < 0.4:
        change = ""
    m.function(
        f"u64 {m.prefix}_part({e.ctype} *p, i64 n)",
        "u64 s = 1;",
        "for (i64 i = 0; i < n; i++) {",
        f"  s = s * 3 + (u64)(i64)({value});",
        *([f"  {change}"] if change else []),
        "}",
        "return s;",
    )


def finish(m: Maker, f: nests.Function, bindings: list[Binding]):
    """Declarations, the function, and one to three calls with different arrays and bounds."""
    rng, p = m.rng, m.prefix
    if f.helper:
        part(m, f)
    by_kind = {kind: [b for b in f.bounds if b.kind == kind] for kind in ("parameter", "global", "field", "pointer")}
    m.unit.code += [f"{b.ctype} {p}_{b.name};" for b in by_kind["global"] + by_kind["pointer"]]
    if by_kind["field"]:
        m.unit.code.append(f"struct {p}_box {{ {' '.join(f'{b.ctype} {b.name};' for b in by_kind['field'])} }} {p}_box;")
    calls = [[(b, other_array(m, b)) for b in bindings if not b.direct] for _ in range(rng.choice((1, 1, 2, 3)))]
    direct = [b.array.name for b in bindings if b.direct]
    names = [direct + [a.name for _, a in call] for call in calls]
    restrict = rng.random() < 0.5 and all(len(set(n)) == len(n) for n in names)
    parameters = [b.parameter(restrict) for b in bindings if not b.direct]
    parameters += [f"struct {p}_box *box"] * bool(by_kind["field"]) + [f"{b.ctype} *{b.name}" for b in by_kind["pointer"]]
    parameters += [f"{b.ctype} {b.name}" for b in by_kind["parameter"]]
    linkage = rng.choice(("static NOINLINE", "static NOINLINE", "static NOINLINE", "static", "static inline", "NOINLINE"))
    m.unit.code += [f"{linkage} u64 {p}({', '.join(parameters) or 'void'}) {{", *f.lines, "}"]
    for call in calls:
        for b in by_kind["global"] + by_kind["pointer"]:
            m.unit.calls.append(f"{p}_{b.name} = {m.number(less(rng, b.most))};")
        m.unit.calls += [f"{p}_box.{b.name} = {m.number(less(rng, b.most))};" for b in by_kind["field"]]
        arguments = [b.argument(a, rng) for b, a in call] + [f"&{p}_box"] * bool(by_kind["field"])
        arguments += [f"&{p}_{b.name}" for b in by_kind["pointer"]]
        m.call(", ".join(arguments + [m.number(less(rng, b.most)) for b in by_kind["parameter"]]))


def other_array(m: Maker, b: Binding) -> Array:
    """An array that can take the place of the binding's: of its type, as long, with no larger limit."""
    fitting = [
        a
        for a in m.arrays
        if a.element is b.array.element
        and a.bytes // b.slot.element.size >= b.slot.length + bool(b.view)
        and (a.limit is None) == (b.array.limit is None)
        and (a.limit is None or a.limit == b.slot.limit)
    ]
    return m.rng.choice(fitting + [b.array] * 2)
