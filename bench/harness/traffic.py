# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each program does with its data: its sweeps, as the comment at the head of its source has them.

Sizes are those that the program derives from --memory-size itself. A sweep through the inside of a grid counts whole
rows, because a disk cannot leave out the two points at a row's ends. Arrays that fit in a cache are left out."""

from harness.least_io import Sweep, Work, sweep

INT, DOUBLE, COMPLEX, PAGE = 4, 8, 16, 4096
COLUMNS = 1_000_000  # of MATVEC's matrix, as in the paper
KEY_TABLE = (1 << 20) * INT  # BUK's table of counts


def buk_keys(total: int) -> int:
    return (total - KEY_TABLE) // (3 * INT)


def buk_work(total: int) -> Work:
    """Fill, count, rank, copy, check of the order, checksum. A key takes a byte of the file of keys."""
    count = buk_keys(total)
    sweeps = [sweep("", "key"), sweep("key"), sweep("key", "rank"), sweep("key rank", "key2"), sweep("key2"), sweep("key2 rank")]
    return Work(sweeps, dict.fromkeys(("key", "rank", "key2"), count * INT), cold=count)


def matvec_work(total: int, iterations: int = 3) -> Work:
    sizes = {"a": total // INT // COLUMNS * COLUMNS * INT, "b": COLUMNS * INT}
    return Work([sweep("", "a b"), *iterations * [sweep("a b")]], sizes)


def embar_work(total: int, iterations: int) -> Work:
    """A batch is generated, then tallied."""
    return Work(iterations * [sweep("", "x"), sweep("x")], {"x": total // COMPLEX * COMPLEX})


def cgm_rows(total: int) -> int:
    """Rows have 27.5 nonzeros of 12 bytes, and 48 bytes of vectors; six standard deviations (20 a row) to spare."""
    of_row = 12 * 27.5 + 48
    spare = 12 * (6 * 20 * (total / of_row) ** 0.5 + 60)
    rows = int((total - spare) / of_row)
    width = int(rows**0.5)
    return rows // width * width


def cgm_work(total: int, iterations: int) -> Work:
    """`matrix` is a, colidx and rowstr."""
    rows = cgm_rows(total)
    sizes = {"matrix": int(rows * (12 * 27.5 + 8)), **dict.fromkeys("xzpqr", rows * DOUBLE)}
    step = [sweep("matrix p", "q"), sweep("p q"), sweep("z r p q", "z r"), sweep("r"), sweep("r p", "p")]
    before = [sweep("", "matrix"), sweep("", "x"), sweep("x", "z r p"), sweep("r")]
    after = [sweep("matrix z", "q"), sweep("x q"), sweep("x z")]
    return Work(before + iterations * step + after, sizes)


def mgrid_levels(n1: int, n3: int) -> list[int]:
    """Points of each level of a finest grid of n1 x n1 x n3, with their ghosts."""
    return [(l1 + 2) ** 2 * (l3 + 2) for l1, l3 in mgrid_sides(n1, n3)]


def mgrid_sides(n1: int, n3: int) -> list[tuple[int, int]]:
    """Of each level, without ghosts."""
    sides = []
    while True:
        sides.append((n1, n3))
        if n1 % 2 or n3 % 2 or n1 <= 2 or n3 <= 2:
            return sides
        n1, n3 = n1 // 2, n3 // 2


def mgrid_fit(total: int) -> tuple[int, int]:
    """The largest cube of multiples of 16 whose u, r (all levels) and v fit, then as long as fits."""
    def fits(n1: int, n3: int) -> bool:
        levels = mgrid_levels(n1, n3)
        return DOUBLE * (levels[0] + 2 * sum(levels)) <= total

    n1 = 16
    while fits(n1 + 16, n1 + 16):
        n1 += 16
    n3 = n1
    while fits(n1, n3 + 16):
        n3 += 16
    return n1, n3


def mgrid_made(reads: str, result: str, wraps: set[str]) -> list[Sweep]:
    """A grid, and what `wrap` copies from end to end of its lines: where they are shorter than a page, each of its pages
    has ends of lines, so that it is a sweep over all of it."""
    return [sweep(reads, result), *([sweep(result, result)] if result in wraps else [])]


def mgrid_cycle(levels: int, wraps: set[str]) -> list[Sweep]:
    """u0, r0 are the finest. After a cycle, the residual and its norm."""
    out = [s for f in range(levels - 1) for s in mgrid_made(f"r{f}", f"r{f + 1}", wraps)]
    for f in reversed(range(levels)):
        if f > 0:
            out.append(sweep("", f"u{f}"))
        if f + 1 < levels:
            out += mgrid_made(f"u{f} u{f + 1}", f"u{f}", wraps)
            out += mgrid_made(f"u{f} " + (f"r{f}" if f > 0 else "v"), f"r{f}", wraps)
        out += mgrid_made(f"r{f} u{f}", f"u{f}", wraps)
    return [*out, *mgrid_made("u0 v", "r0", wraps), sweep("r0")]


def mgrid_work(total: int, iterations: int) -> Work:
    n1, n3 = mgrid_fit(total)
    levels, sides = mgrid_levels(n1, n3), mgrid_sides(n1, n3)
    sizes = {"v": levels[0] * DOUBLE}
    for level, points in enumerate(levels):
        sizes[f"u{level}"] = sizes[f"r{level}"] = points * DOUBLE
    wraps = {f"{grid}{level}" for level, (side, _) in enumerate(sides) for grid in "ur" if (side + 2) * DOUBLE <= PAGE}
    before = [sweep("", "v"), sweep("", "u0"), *mgrid_made("u0 v", "r0", wraps), sweep("r0")]
    return Work(before + iterations * mgrid_cycle(len(levels), wraps), sizes)


def fftpde_points(total: int) -> int:
    """The most points of a box, nearly a cube, whose sides are 1, 3 or 5 times a power of two."""
    points = total // (3 * COMPLEX + DOUBLE)
    side = int(2 * points ** (1 / 3))
    smooth = [s for s in sorted(odd * 4 << k for odd in (1, 3, 5) for k in range(40)) if s <= points]
    best = 0
    for n1 in (s for s in smooth if side / 4 < s <= side):
        for n2 in (s for s in smooth if side / 4 < s <= n1):
            n3 = max((s for s in smooth if s <= points // (n1 * n2)), default=0)
            best = max(best, n1 * n2 * n3 if n3 <= n1 else 0)
    return best


def fftpde_work(total: int, iterations: int) -> Work:
    """Transforms along x and y are two sweeps through the same array; each transform is checked by one."""
    points = fftpde_points(total)
    sizes = {**dict.fromkeys(("u0", "u1", "u2"), points * COMPLEX), "decay": points * DOUBLE}
    along_x_and_y = 2 * [sweep("u1", "u1")]
    before = [sweep("", "u1"), sweep("", "decay"), *along_x_and_y, sweep("u1", "u0"), sweep("u0")]
    step = [sweep("u0 decay", "u0 u1"), *along_x_and_y, sweep("u1", "u2"), sweep("u2")]
    return Work(before + iterations * step, sizes)


def cube_points(total: int, point_bytes: int) -> int:
    """Of the largest cube of points that fits, those in rows that cross its inside."""
    side = round((total / point_bytes) ** (1 / 3)) + 1
    while side**3 * point_bytes > total:
        side -= 1
    return side * (side - 2) ** 2


def apart(given: str, result: str) -> list[Sweep]:
    """A right-hand side that is made in four sweeps: the part of a point itself, the differences along x, y and z."""
    return [sweep(f"{given} u", result), *3 * [sweep(f"u {result}", result)]]


def simulation(prepare: list[Sweep], right_hand_side: list[Sweep], step: list[Sweep], iterations: int) -> list[Sweep]:
    """APPLU, APPSP and APPBT. Before: the exact solution, what must be given for it to be one, the start and how far
    off it is. Every iteration begins with the right-hand side, which is summed up in the first one and at the end."""
    result = max(right_hand_side[0].writes)
    given = max(right_hand_side[0].reads - {"u"})
    summed = [*right_hand_side, sweep(result)]
    before = [*prepare, sweep("", "u"), *right_hand_side, sweep(result, given), sweep("", "u"), sweep("u")]
    return [*before, *summed, *step, *(iterations - 1) * [*right_hand_side, *step], *summed, sweep("u")]


def applu_work(total: int, iterations: int) -> Work:
    """`blocks` are the four arrays of 5 x 5 blocks."""
    points = cube_points(total, 115 * DOUBLE)
    sizes = {**dict.fromkeys(("u", "rsd", "frct"), points * 5 * DOUBLE), "blocks": points * 100 * DOUBLE}
    solve = [sweep("u", "blocks"), sweep("blocks rsd", "rsd")]
    step = [sweep("rsd", "rsd"), *2 * solve, sweep("u rsd", "u")]
    return Work(simulation([], apart("frct", "rsd"), step, iterations), sizes)


def appsp_work(total: int, iterations: int) -> Work:
    """Three kinds of unknowns along each of three axes; rhs is rotated before, between and after the axes."""
    points = cube_points(total, 20 * DOUBLE)
    sizes = {**dict.fromkeys(("u", "rhs", "forcing"), points * 5 * DOUBLE), **dict.fromkeys("abcde", points * DOUBLE)}
    rotate = sweep("rhs", "rhs")
    axis = 3 * [sweep("u", "a b c d e"), sweep("a b c d e rhs", "d e rhs")]
    step = [rotate, *3 * [*axis, rotate], sweep("u rhs", "u")]
    return Work(simulation([sweep("", "rhs forcing d e")], apart("forcing", "rhs"), step, iterations), sizes)


def appbt_work(total: int, iterations: int) -> Work:
    """Along x and y the substitution goes right behind the elimination, along z it is a sweep of its own."""
    points = cube_points(total, 90 * DOUBLE)
    sizes = {**dict.fromkeys(("u", "rhs", "forcing"), points * 5 * DOUBLE), **dict.fromkeys("abc", points * 25 * DOUBLE)}
    axis = [sweep("u", "a b c"), sweep("a b c rhs", "b c rhs")]
    step = [*3 * axis, sweep("c rhs", "rhs"), sweep("u rhs", "u")]
    return Work(simulation([sweep("", "rhs forcing")], [sweep("forcing u", "rhs")], step, iterations), sizes)
