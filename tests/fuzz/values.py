# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random expressions and what a loop nest keeps in mind to make them: variables with their ranges, and slots,
the arrays as one unit sees them."""

from dataclasses import dataclass, field

from data import Element, Leaf


@dataclass
class Slot:
    """An array of a unit: at least `length` elements, reached under `name`. With `width`, a matrix of rows."""

    name: str
    element: Element
    length: int
    limit: int | None = None
    width: int = 0
    written: bool = True
    patterns: list = field(default_factory=list)  # coefficients used before, for groups of references


@dataclass
class Variable:
    """A loop variable: an expression of integer type whose value is in low..high wherever it is used."""

    name: str
    low: int
    high: int
    ctype: str = "i64"

    @property
    def signed(self) -> bool:
        return self.ctype.startswith("i")

    @property
    def narrow(self) -> bool:
        """Unsigned and less than 64 bits: a difference that should be negative would be large instead."""
        return not self.signed and self.ctype != "u64"

    @property
    def span(self) -> int:
        return self.high - self.low


@dataclass
class Scope:
    """What an expression may use at a place of the program."""

    rng: object
    slots: list[Slot]
    variables: list[Variable] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)  # of type u64
    reals: list[str] = field(default_factory=list)  # at most 2048 in absolute value
    iterations: int = 1

    def scattered(self, slot: Slot) -> bool:
        """Whether this place may go to random pages of the slot: each costs a fault if it is absent."""
        return self.iterations <= 15000 or slot.length * slot.element.size <= 256 << 10


def affine(scope: Scope, slot: Slot, room: int) -> str:
    """An index below `room`, linear in the loop variables; often next to one that the nest has used before."""
    rng = scope.rng
    live = [v for v in scope.variables if v.span < room]
    if slot.patterns and rng.random() < 0.6:
        coefficients = dict(rng.choice(slot.patterns))
    else:
        coefficients = new_coefficients(scope, slot, live, room)
        slot.patterns.append(tuple(coefficients.items()))
    by_name = {v.name: v for v in live}
    low = high = 0
    terms = []
    for name, c in coefficients.items():
        v = by_name.get(name)
        if v is None or abs(c) * v.span + high - low >= room:
            continue  # out of scope here, or the room of a matrix's row is less
        low += min(c * v.low, c * v.high)
        high += max(c * v.low, c * v.high)
        terms.append(name if c == 1 and not v.narrow else f"(i64){name}" + (f" * {c}" if c != 1 else ""))
    first, last = -low, room - 1 - high
    offset = rng.choice((first, first, last, min(first + rng.randrange(4), last), rng.randint(first, last)))
    return " + ".join(terms + [f"{offset}"] if terms else [str(offset)]).replace("+ -", "- ")


def new_coefficients(scope: Scope, slot: Slot, live: list[Variable], room: int) -> dict[str, int]:
    rng = scope.rng
    order = list(reversed(live))
    if rng.random() < 0.2:
        rng.shuffle(order)
    out, span = {}, 0
    for position, v in enumerate(order):
        left = (room - 1 - span) // v.span if v.span else room
        if left < 1:
            continue
        c = (
            rng.choice((1, 1, 1, 1, 2, 3, rng.randint(1, left)))
            if position == 0
            else rng.choice((0, 1, span + 1, span + 1, span + 1 + rng.randrange(9), rng.randint(1, left)))
        )
        c = min(c, left)
        if c * slot.element.size >= 1024 and v is live[-1] and not (scope.scattered(slot) or scope.iterations <= 40000):
            c = 1
        if c:
            out[v.name] = -c if rng.random() < 0.15 else c
            span += c * v.span
    return out


def index_below(scope: Scope, slot: Slot, room: int, depth: int) -> str:
    """An index of any kind that is below `room`."""
    rng = scope.rng
    kind = rng.random()
    if depth > 0 and kind < 0.35 and scope.scattered(slot):
        sources = [s for s in scope.slots if s.limit is not None and s.limit <= room]
        if sources and kind < 0.27:
            source = rng.choice(sources)
            inner = f"{source.name}[{index_below(scope, source, source.length, depth - 1)}]"
            spare = room // source.limit
            return f"(u64){inner} * {rng.randint(1, spare)}" if spare > 1 and rng.random() < 0.3 else inner
        if scope.variables:
            value = integer(scope, 0)
            mask = (1 << (room.bit_length() - 1)) - 1
            return (
                f"({value} * {rng.choice((2654435761, 40503, 31))}u + {rng.randrange(99)}) & {mask}"
                if rng.random() < 0.6
                else f"({value}) % {room}"
            )
    return affine(scope, slot, room)


def reference(scope: Scope, slot: Slot, leaf: Leaf | None = None, depth: int = 1) -> str:
    """An lvalue in the slot."""
    leaf = leaf or scope.rng.choice(slot.element.leaves)
    if slot.width:
        row = index_below(scope, slot, slot.length // slot.width, depth)
        return f"{slot.name}[{row}][{index_below(scope, slot, slot.width, depth)}]{leaf.path}"
    return f"{slot.name}[{index_below(scope, slot, slot.length, depth)}]{leaf.path}"


def load(scope: Scope, real: bool) -> str | None:
    """A load as u64, or as a real of at most 2048."""
    slot = scope.rng.choice(scope.slots)
    leaf = scope.rng.choice(slot.element.leaves)
    if leaf.real != real:
        return None
    text = reference(scope, slot, leaf)
    return text if real else f"(u64){text}"


def integer(scope: Scope, depth: int) -> str:
    """An expression of type u64, any value."""
    rng = scope.rng
    if depth > 0:
        a, b = integer(scope, depth - 1), integer(scope, depth - 1)
        return rng.choice(
            (
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} ^ {b})",
                f"({a} * {b})",
                f"({a} & {b})",
                f"({a} | {b})",
                f"({a} >> {rng.randint(1, 40)})",
                f"({a} > {b} ? {a} : {b})",
                f"({a} + {rng.randrange(1000)}u)",
            )
        )
    kind = rng.random()
    if kind < 0.55 and (found := load(scope, False)):
        return found
    if kind < 0.62 and (found := load(scope, True)):
        return f"(u64)(i64){found}"
    if kind < 0.8 and scope.variables:
        return f"(u64){rng.choice(scope.variables).name}"
    if scope.integers and kind < 0.95:
        return rng.choice(scope.integers)
    return f"(u64){rng.randrange(1 << rng.choice((3, 16, 40)))}"


def small_real(scope: Scope) -> str:
    """A real of at most 2048: a load, a variable of the nest, a number."""
    for _ in range(3):
        if found := load(scope, True):
            return found
    if scope.reals and scope.rng.random() < 0.5:
        return scope.rng.choice(scope.reals)
    return f"(double)({integer(scope, 0)} & 1023)"


def real(scope: Scope) -> str:
    """A real of at most 2048 again: the weights sum to less than one."""
    weights = scope.rng.choice(((0.5, 0.25), (0.25, 0.5), (0.75,), (0.5, -0.375), (0.25, 0.25, 0.25)))
    return " + ".join(f"{w} * {small_real(scope)}" for w in weights) + f" + {scope.rng.randrange(100)}"


def condition(scope: Scope) -> str:
    rng = scope.rng
    if rng.random() < 0.2:
        return f"{small_real(scope)} {rng.choice('<>')} {small_real(scope)}"
    return rng.choice(
        (
            f"({integer(scope, 0)} & {rng.choice((1, 3, 15))}) == {rng.randrange(2)}",
            f"{integer(scope, 0)} < {integer(scope, 0)}",
            f"(i64){integer(scope, 0)} > {rng.randrange(99)}",
        )
    )


def seldom(scope: Scope) -> str:
    """A condition on data that is true now and then, for exits."""
    rng = scope.rng
    mask = rng.choice((255, 4095, 65535))
    return f"({integer(scope, 0)} & {mask}) == {rng.randrange(mask)}"


def store(scope: Scope, slot: Slot) -> str:
    """A statement that stores into the slot and keeps its invariant."""
    rng = scope.rng
    leaf = rng.choice(slot.element.leaves)
    target = reference(scope, slot, leaf)
    if slot.limit is not None:
        return f"{target} = ({leaf.ctype})({integer(scope, 1)} % {slot.limit});"
    if leaf.real:
        return f"{target} = ({leaf.ctype})({real(scope)});"
    value = integer(scope, rng.choice((0, 1, 1, 2)))
    if rng.random() < 0.5 and leaf.ctype[0] == "u" and not leaf.ctype.startswith(("u8", "u16")):
        return f"{target} {rng.choice(('+=', '^=', '-=', '|=', '*='))} ({leaf.ctype}){value};"
    return f"{target} = ({leaf.ctype})({value});"
