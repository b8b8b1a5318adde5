#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a random C program made of loop nests: always the same for a seed.

A program is a few arrays and a row of units, functions that main calls one after the other; it prints a number
for each and a hash of every array. The program that this makes has no undefined behaviour, and needs no more than
a second. Each unit is a function of seed and number, so that `--units` leaves the others as they are."""

import argparse
import random
import sys

from data import PRELUDE, make_arrays
from irregular import IRREGULAR
from shapes import SHAPES
from units import Maker, Unit, random_nest


def make_unit(seed: int, index: int, arrays) -> Unit:
    rng = random.Random(f"unit {seed} {index}")
    maker = Maker(rng, index, arrays)
    kind = rng.random()
    (random_nest if kind < 0.6 else rng.choice(SHAPES) if kind < 0.8 else rng.choice(IRREGULAR))(maker)
    return maker.unit


def unit_count(seed: int) -> int:
    return random.Random(f"count {seed}").randint(3, 6)


def ballast(rng) -> tuple[str, str]:
    """An allocation that is never touched and makes the data exceed the budget: before the arrays, after, or midway."""
    when = rng.choice(("first", "first", "last", "midway", "never"))
    return when, f"volatile u8 *ballast = checked(malloc({rng.choice((16, 40))} << 20)); (void)ballast;"


def program(seed: int, units=None) -> str:
    """The program of a seed; with `units`, only those of its units."""
    rng = random.Random(f"data {seed}")
    arrays = make_arrays(rng)
    when, heavy = ballast(rng)
    chosen = range(unit_count(seed)) if units is None else sorted(units)
    made = {k: make_unit(seed, k, arrays) for k in chosen}
    out = [
        f"// seed {seed}" + ("" if units is None else f", units {','.join(map(str, chosen))}"),
        PRELUDE,
        "volatile i64 zero; // so that a number is not known to the compiler",
        "#define N(x) ((x) + zero)",
    ]
    out += [a.declaration() for a in arrays]
    for k in chosen:
        out += ["", *made[k].code]
    out += [
        "",
        "static NOINLINE void show(int unit, u64 r) {",
        '  printf("unit %d %016llx\\n", unit, (unsigned long long)r);',
        "  if (!show_all)",
        "    return;",
    ]
    out += [f'  printf("  {a.name} %016llx\\n", (unsigned long long)hash({a.name}, {a.bytes}));' for a in arrays]
    out += ["}", "", "int main(int argc, char **argv) {", "  (void)argv;", "  u64 r = 0;", "  show_all = argc > 1;"]
    for a in arrays:
        if when == "midway" and a is arrays[len(arrays) // 2] or when == "first" and a is arrays[0]:
            out.append(f"  {heavy}")
        out += [f"  {line}" for line in a.allocation() + a.filling()]
    if when == "last":
        out.append(f"  {heavy}")
    for k in chosen:
        out += [*(f"  {line}" for line in made[k].calls), f"  show({k}, r);"]
    out += ["  show_all = 1;", "  show(-1, r);", "  return (int)(r & 63);", "}"]
    return "\n".join(out) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--units", help="numbers of the units to keep, with commas between")
    options = parser.parse_args()
    units = None if options.units is None else {int(u) for u in options.units.split(",") if u}
    sys.stdout.write(program(options.seed, units))
    return 0


if __name__ == "__main__":
    sys.exit(main())
