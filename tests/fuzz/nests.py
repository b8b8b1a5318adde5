# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random loop nests: a tree of loops with statements between them.

Every loop has a nominal range, from which indices are made; what a call passes may be less, also nothing.
Bounds are numbers, parameters, globals, fields of a struct, memory read again in each iteration, or the variables
of outer loops; some shrink while the loop runs."""

from dataclasses import dataclass, field

from values import Scope, Slot, Variable, condition, integer, real, reference, seldom, store

# Type of a loop variable, the largest bound it can hold, whether it is signed.
COUNTERS = [
    ("int", 1 << 30, True),
    ("i64", 1 << 40, True),
    ("u64", 1 << 40, False),
    ("unsigned", 1 << 30, False),
    ("i16", 30000, True),
    ("u16", 60000, False),
    ("u8", 240, False),
]
COUNTER_WEIGHTS = (6, 6, 4, 3, 1, 1, 1)
BOUND_TYPES = ("int", "i64", "u64", "unsigned", "i64")


@dataclass
class Bound:
    """A number that a call chooses, at most `most`."""

    text: str  # how the unit reads it
    most: int
    kind: str  # parameter, global, field, pointer
    ctype: str
    name: str


@dataclass
class Function:
    """The text of one unit's function as it grows."""

    rng: object
    prefix: str
    slots: list[Slot]
    helper: bool
    lines: list[str] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    names: int = 0
    jumps_out: bool = False

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def emit(self, depth: int, text: str):
        self.lines.append("  " * depth + text)

    def bound(self, most: int) -> Bound:
        known = [b for b in self.bounds if b.most == most]
        if known and self.rng.random() < 0.5:
            return self.rng.choice(known)
        kind = self.rng.choices(("parameter", "global", "field", "pointer"), (6, 2, 1, 1))[0]
        ctype = self.rng.choice(BOUND_TYPES)
        name = self.name("n")
        text = {"parameter": name, "global": f"{self.prefix}_{name}", "field": f"box->{name}", "pointer": f"*{name}"}[kind]
        self.bounds.append(Bound(text, most, kind, ctype, name))
        return self.bounds[-1]


def trip_counts(rng, depth: int, total: int) -> list[int]:
    """Trip counts of nested loops, the outermost first, with about that product."""
    weights = [rng.choice((0.15, 0.5, 1, 1, 2)) for _ in range(depth)]
    return [max(1, int(total ** (w / sum(weights)))) for w in weights]


def nest(f: Function, scope: Scope, depth: int, trips: list[int]):
    """A loop of the first trip count and what is in it."""
    rng = f.rng
    loop = Loop(f, scope, trips[0], len(trips) == 1)
    loop.open(depth)
    inside = Scope(
        rng,
        scope.slots,
        scope.variables + [loop.variable],
        list(scope.integers),
        list(scope.reals),
        scope.iterations * max(1, loop.most),
    )
    for _ in range(rng.choice((0, 0, 0, 1))):
        statement(f, inside, depth + 1)
    loop.exits(depth + 1, inside)
    if len(trips) > 1:
        for k in range(rng.choice((1, 1, 1, 2))):
            if k and rng.random() < 0.6:
                statement(f, inside, depth + 1)
            nest(f, inside, depth + 1, trips[1:] if not k or len(trips) == 2 else trips[-1:])
        if rng.random() < 0.4:
            statement(f, inside, depth + 1)
    else:
        for _ in range(rng.choice((1, 1, 2, 3))):
            statement(f, inside, depth + 1)
    loop.close(depth, inside)


class Loop:
    """One loop: its variable, its form, its ends."""

    def __init__(self, f: Function, scope: Scope, trips: int, innermost: bool):
        self.f, self.rng = f, f.rng
        rng = f.rng
        self.step = rng.choice((1, 1, 1, 1, 1, 2, 3, 8)) if trips >= 8 else 1
        self.low = rng.choice((0, 0, 0, 1, 1, 2, 5))
        high = self.low + trips * self.step
        self.outer = next((v for v in reversed(scope.variables) if 4 <= v.high <= 4 * trips and v.low >= 0), None)
        if self.outer is None or rng.random() > 0.3:
            self.outer = None
        else:
            high = min(high, 1500) if self.step == 1 else high
        fitting = [(c, w) for c, w in zip(COUNTERS, COUNTER_WEIGHTS) if high + self.step <= c[1] and (c[2] or not self.outer)]
        self.ctype, _, self.signed = rng.choices([c for c, _ in fitting], [w for _, w in fitting])[0]
        self.high = high
        self.name = f.name("ijklm"[min(len(scope.variables), 4)] + "_")
        self.form = rng.choices(
            ("up", "down", "notequal", "dowhile", "while", "data", "atmost"), (8, 3, 2, 1, 1, 1 if innermost else 0.2, 2)
        )[0]
        self.header()

    def header(self):
        """Chooses the bounds' text. Sets `variable`, the range of the variable, and `most`, the iterations."""
        rng, low, high = self.rng, str(self.low), self.high
        bound = self.bound_text(high)
        first, last = self.low, high - 1
        if self.outer is not None:
            o = self.outer
            shape = rng.choice(("below", "upto", "from", "rest"))
            value = o.name if o.signed else f"(i64){o.name}"
            if shape == "below":
                bound, last = value, max(o.high - 1, first)
            elif shape == "upto":
                bound, last = f"{value} + 1", max(o.high, first)
            elif shape == "from":
                low, first = value, min(o.low, high - 1)
                self.form = "up" if self.form in ("notequal", "dowhile") else self.form
            else:
                bound, last = f"{o.high + 1} - (i64){o.name}", max(o.high, first)
            self.form = {"notequal": "up", "dowhile": "while"}.get(self.form, self.form)
        if self.form in ("notequal", "dowhile"):
            self.step, low, first = 1, "0", 0
        self.low_text, self.bound = low, bound
        self.variable = Variable(self.name, first, max(first, last), self.ctype)
        self.most = (last - first) // self.step + 1

    def bound_text(self, high: int) -> str:
        if self.rng.random() < 0.2:
            return str(high)
        b = self.f.bound(high)
        return b.text if b.ctype in ("int", "i64") or not self.signed else f"(i64){b.text}"

    def open(self, depth: int):
        f, v, t, s = self.f, self.name, self.ctype, self.step
        bound = self.bound
        self.shrinks = None
        if self.form in ("up", "atmost", "while") and self.outer is None and self.rng.random() < 0.12:
            self.shrinks = f.name("e")
            f.emit(depth, f"i64 {self.shrinks} = (i64)({bound});")
            bound = self.shrinks if self.signed else f"(u64){self.shrinks}"
        more = f"{v} += {s}" if s > 1 else self.rng.choice((f"{v}++", f"++{v}"))
        if self.form == "up":
            f.emit(depth, f"for ({t} {v} = {self.low_text}; {v} < {bound}; {more}) {{")
        elif self.form == "atmost":
            f.emit(depth, f"for ({t} {v} = {self.low_text}; {v} + 1 <= {bound}; {more}) {{")
        elif self.form == "notequal":
            f.emit(depth, f"for ({t} {v} = 0; {v} != ({t})({bound}); {more}) {{")
        elif self.form == "down" and self.signed:
            f.emit(depth, f"for ({t} {v} = ({t})({bound} - 1); {v} >= {self.low_text}; {v} -= {s}) {{")
        elif self.form == "down":
            f.emit(depth, f"for ({t} {v} = ({t})({bound}); {v}-- > {self.low_text};) {{")
        else:
            f.emit(depth, f"{t} {v} = {self.low_text};")
            f.emit(depth, "do {" if self.form == "dowhile" else f"while ({v} < {bound}) {{")

    def exits(self, depth: int, scope: Scope):
        """Ways out in the middle, and bounds that change."""
        rng, f = self.rng, self.f
        if self.shrinks:
            f.emit(depth, f"if ({seldom(scope)} && {self.shrinks} > 4)")
            f.emit(depth + 1, f"{self.shrinks} -= {rng.randint(1, 3)};")
        kind = rng.random()
        if kind < 0.07:
            f.emit(depth, f"if ({seldom(scope)}) break;")
        elif kind < 0.1 and self.form in ("up", "atmost", "notequal"):
            f.emit(depth, f"if ({condition(scope)}) continue;")
        elif kind < 0.13:
            f.jumps_out = True
            f.emit(depth, f"if ({seldom(scope)}) goto out;")

    def close(self, depth: int, scope: Scope):
        f, v, s = self.f, self.name, self.step
        if self.form == "while":
            f.emit(depth + 1, f"{v} = ({self.ctype})({v} + {s});")
        elif self.form == "data":
            f.emit(depth + 1, f"{v} = ({self.ctype})({v} + {s} + ({integer(scope, 0)} & {self.rng.choice((0, 1, 3))}));")
        if self.form == "dowhile":
            f.emit(depth, f"}} while (++{v} < {self.bound});")
        else:
            f.emit(depth, "}")


def statement(f: Function, scope: Scope, depth: int):
    """A store, a reduction, a recurrence, a condition, a guarded wild index, or a call with a part of an array."""
    rng = f.rng
    kind = rng.random()
    written = [s for s in scope.slots if s.written and (s.limit is None or rng.random() < 0.3)]
    if kind < 0.5 and written:
        f.emit(depth, store(scope, rng.choice(written)))
    elif kind < 0.62:
        f.emit(depth, f"sum {rng.choice(('+=', '^=', '+=', '-='))} {integer(scope, 1)};")
    elif kind < 0.68:
        f.emit(depth, f"x = {real(scope)};")
    elif kind < 0.74:
        f.emit(depth, f"y = y * {rng.choice((5, 31, 1))} + {integer(scope, 0)};")
    elif kind < 0.86:
        f.emit(depth, f"if ({condition(scope)}) {{")
        statement(f, scope, depth + 1)
        if rng.random() < 0.4:
            f.emit(depth, "} else {")
            statement(f, scope, depth + 1)
        f.emit(depth, "}")
    elif kind < 0.93:
        guarded(f, scope, depth)
    elif f.helper and scope.iterations <= 4000:
        call(f, scope, depth)
    else:
        f.emit(depth, f"sum += (u64)(i64)({real(scope)});" if rng.random() < 0.3 else f"sum += {integer(scope, 1)};")


def guarded(f: Function, scope: Scope, depth: int):
    """An index out of data that is not an index most of the time: whatever runs ahead must not trust it."""
    rng = f.rng
    plain = [s for s in scope.slots if not s.width and s.limit is None]
    targets = [s for s in plain if scope.scattered(s)]
    sources = [s for s in plain if s.element.integer]
    if not targets or not sources:
        f.emit(depth, f"sum += {integer(scope, 1)};")
        return
    target, t = rng.choice(targets), f.name("t")
    shift = rng.choice((0, 0, 1, 8))
    f.emit(depth, f"u64 {t} = (u64){reference(scope, rng.choice(sources), depth=0)} >> {shift};")
    f.emit(depth, f"if ({t} < {target.length})")
    leaf = rng.choice(target.element.leaves)
    place = f"{target.name}[{t}]{leaf.path}"
    if target.written and not leaf.real and rng.random() < 0.5:
        f.emit(depth + 1, f"{place} = ({leaf.ctype})({place} + {integer(scope, 0)});")
    else:
        f.emit(depth + 1, f"sum += (u64)(i64){place};")


def call(f: Function, scope: Scope, depth: int):
    """A call of the unit's helper with a stretch of an array."""
    rng = f.rng
    fitting = [
        s for s in scope.slots if not s.width and s.limit is None and s.written and s.element.ctype == f.slots[0].element.ctype
    ]
    if not fitting:
        f.emit(depth, f"sum ^= {integer(scope, 1)};")
        return
    slot = rng.choice(fitting)
    most = min(slot.length // 2, max(1, 200000 // scope.iterations), 30000)
    count = rng.choice((str(rng.randint(0, most)), f"{integer(scope, 0)} % {most + 1}"))
    inner = Slot(slot.name, slot.element, slot.length - most)
    place = reference(scope, inner, slot.element.leaves[0], depth=0)
    place = place.removesuffix(slot.element.leaves[0].path)
    f.emit(depth, f"sum += {f.prefix}_part(&{place}, (i64)({count}));")
