# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of a given shape with regular accesses: what random nests do not come upon, or seldom. Each function
takes a Maker and adds a function with calls to its unit."""

from data import MIB
from units import Maker


def update(leaf, place: str, other: str) -> str:
    """A store to `place` that depends on the number at `other` and keeps the invariants of data.py."""
    if leaf.real:
        return f"{place} = ({leaf.ctype})(0.5 * {place} + 0.25 * {other} + 1);"
    return f"{place} = ({leaf.ctype})((u64){place} * 3 + (u64){other});"


def vla(m: Maker):
    """A matrix as a parameter of variable size, by rows, by columns, or transposed into itself."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 5000)
    leaf, w = a.element.leaves[0], rng.choice((5, 60, 129, 512, 1025))
    rows = max(2, min(a.length // w, 90000 // w))
    body = rng.choice(
        (
            ["for (i64 i = 1; i < n; i++)", "  for (i64 j = 0; j < w; j++)", f"    {update(leaf, 'p[i][j]', 'p[i - 1][j]')}"],
            [
                "for (i64 j = w - 1; j >= 0; j--)",
                "  for (i64 i = 0; i + 1 < n; i++)",
                f"    {update(leaf, 'p[i][j]', 'p[i + 1][j]')}",
            ],
            [
                "for (i64 i = 0; i < n && i < w; i++)",
                "  for (i64 j = 0; j < i && j < n; j++) {",
                f"    {leaf.ctype} t = p[i][j];",
                "    p[i][j] = p[j][i];",
                "    p[j][i] = t;",
                "  }",
            ],
        )
    )
    m.function(f"u64 {m.prefix}(i64 n, i64 w, {a.element.ctype} p[n][w])", *body, "return (u64)(i64)p[n / 2][w / 2];")
    skip = a.length - rows * w
    for r in {rows, rng.randint(1, rows), rng.randint(1, rows)} if rng.random() < 0.5 else {rows}:
        m.call(f"{m.number(r)}, {m.number(w)}, (void *)({a.name} + {rng.choice((0, skip))})")


def row_pointers(m: Maker):
    """Rows reached through a table of pointers: stretches of an array in some order, or blocks of their own."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 20000)
    leaf, c = a.element.leaves[0], a.element.ctype
    rows, w = rng.choice((3, 40, 200)), rng.choice((50, 500))
    w = min(w, a.length // rows)
    own = rng.random() < 0.3
    place = f"checked(calloc({w}, sizeof({c})))" if own else f"{a.name} + (i * {rng.choice((1, 7, 11))} % {rows}) * {w}"
    clear = [f"for (int i = 0; i < {rows}; i++)", "  free(rows[i]);"] if own else []
    loops = rng.choice((("i", rows, "j", w), ("j", w, "i", rows)))
    m.function(
        f"u64 {m.prefix}(int n, int w)",
        f"static {c} *rows[{rows}];",
        "u64 sum = 0;",
        f"for (int i = 0; i < {rows}; i++)",
        f"  rows[i] = {place};",
        f"for (int {loops[0]} = 0; {loops[0]} < {'n' if loops[0] == 'i' else 'w'}; {loops[0]}++)",
        f"  for (int {loops[2]} = 0; {loops[2]} < {'n' if loops[2] == 'i' else 'w'}; {loops[2]}++) {{",
        f"    {update(leaf, 'rows[i][j]', 'rows[(i + 1) % n][j]')}",
        "    sum += (u64)(i64)rows[i][j];",
        "  }",
        *clear,
        "return sum;",
    )
    m.call(f"{m.number(rows)}, {m.number(w)}")


def time_steps(m: Maker):
    """Sweeps over two halves of an array that change places, with nests of different directions in each step."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 20000)
    leaf, c = a.element.leaves[0], a.element.ctype
    n = min(a.length // 2, 300000)
    m.function(
        f"u64 {m.prefix}({c} *p, {c} *q, i64 n, int steps)",
        "u64 sum = 0;",
        "for (int t = 0; t < steps; t++) {",
        "  for (i64 i = 1; i + 1 < n; i++)",
        f"    {update(leaf, 'q[i]', '(p[i - 1] / 2 + p[i + 1] / 2)')}",
        rng.choice(("  for (i64 i = n - 1; i > 0; i -= 2)", "  for (i64 i = n % 3; i < n; i += 3)")),
        f"    sum += (u64)(i64)q[i] ^ (u64)i;",
        f"  {c} *r = p;",
        "  p = q;",
        "  q = r;",
        *(["  if ((sum & 7) == 3) break;"] if rng.random() < 0.3 else []),
        "}",
        "return sum;",
    )
    m.call(f"{a.name}, {a.name} + {rng.choice((n, a.length - n))}, {m.number(n)}, {m.number(rng.randint(1, 5))}")


def tiny(m: Maker):
    """A nest that is entered many times for a few iterations, or none."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 20000)
    leaf, c = a.element.leaves[0], a.element.ctype
    most, times = rng.choice((2, 9, 40)), rng.choice((500, 5000))
    stride = rng.randint(1, (a.length - most) // times)
    m.function(
        f"u64 {m.prefix}_in({c} *p, int n, int rows)",
        "u64 sum = 0;",
        "for (int k = 0; k < rows; k++)",
        "  for (int i = 0; i < n; i++) {",
        f"    {update(leaf, 'p[i]', 'k')}",
        "    sum += (u64)(i64)p[i];",
        "  }",
        "return sum;",
    )
    m.function(
        f"u64 {m.prefix}({c} *p, i64 times)",
        "u64 sum = 0;",
        "for (i64 k = 0; k < times; k++)",
        f"  sum = sum * 3 + {m.prefix}_in(p + k * {stride}, (int)(mix((u64)k) % {most + 1}), (int)(k % {rng.randint(1, 4)}));",
        "return sum;",
    )
    m.call(f"{a.name}, {m.number(times)}")


def memory_functions(m: Maker):
    """memset, memcpy and memmove of a length known at run time, row by row or at once."""
    rng, a = m.rng, m.integers(20000)
    bytes_, rows = a.bytes // 2, rng.choice((1, 6, 200))
    row = bytes_ // rows
    operation = rng.choice(
        (
            "memset(p + k * stride, k & 255, length);",
            "memcpy(p + k * stride, q + k * stride, length);",
            "memmove(p + k * stride, p + k * stride + length / 3, length);",
            "memmove(p + k * stride + length / 3, p + k * stride, length);",
            "if (memcmp(p + k * stride, q + k * stride, length) > 0) p[k] ^= 1;",
        )
    )
    m.function(
        f"u64 {m.prefix}(u8 *p, u8 *q, u64 rows, u64 stride, u64 length)",
        "for (u64 k = 0; k < rows; k++)",
        f"  {operation}",
        "return p[length / 2];",
    )
    stride = row * 3 // 4
    for length in (stride, rng.randint(0, stride), 0)[: rng.randint(1, 3)]:
        m.call(
            f"(u8 *){a.name} + {rng.choice((0, 1, 8))}, (u8 *){a.name} + {bytes_ - 16}, {m.number(max(1, rows - 2))}, "
            f"{m.number(stride)}, {m.number(length)}"
        )


def recursion(m: Maker):
    """Halves first, then a nest over the whole: a nest that is open at several depths where it calls itself."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 4096)
    leaf, c = a.element.leaves[0], a.element.ctype
    n, least = min(a.length, rng.choice((4096, 100000, 400000))), rng.choice((64, 1000, 30000))
    inside = rng.random() < 0.4
    m.function(
        f"u64 {m.prefix}({c} *p, i64 n)",
        "u64 sum = 0;",
        f"if (n >= {least}) {{",
        *(
            [
                f"  for (i64 h = 0; h < 2; h++) {{",
                f"    sum += {m.prefix}(p + h * (n / 2), n / 2);",
                f"    {update(leaf, 'p[h]', 'p[h + n / 2]')}",
                "  }",
            ]
            if inside
            else [f"  sum = {m.prefix}(p, n / 2) + 3 * {m.prefix}(p + n / 2, n - n / 2);"]
        ),
        "}",
        "for (i64 i = 0; i < n / 2; i++)",
        f"  {update(leaf, 'p[i]', 'p[n - 1 - i]')}",
        "return sum + (u64)(i64)p[n / 4];",
    )
    m.call(f"{a.name} + {a.length - n}, {m.number(n)}")


def long_jump(m: Maker):
    """A nest that is left by longjmp, again and again."""
    rng, a = m.rng, m.integers(20000)
    c, n = a.element.ctype, min(a.length, 200000)
    m.unit.code += [f"static jmp_buf {m.prefix}_back;"]
    m.function(
        f"void {m.prefix}_out({c} *p, i64 n, i64 w, u64 after)",
        "for (i64 i = 0; i < n; i++)",
        "  for (i64 j = 0; j < w; j++) {",
        f"    p[i * w + j] = ({c})(p[i * w + j] + 1);",
        "    if (--after == 0)",
        f"      longjmp({m.prefix}_back, (int)(1 + i));",
        "  }",
    )
    m.function(
        f"u64 {m.prefix}({c} *p, i64 n, i64 w)",
        "volatile u64 sum = 0, rounds = 0;",
        f"int came = setjmp({m.prefix}_back);",
        "sum = sum * 5 + (u64)came;",
        f"if (rounds++ < {rng.randint(2, 6)})",
        f"  {m.prefix}_out(p, n, w, rounds * {rng.randint(1, n // 4)});",
        "for (i64 i = 0; i < n; i++)",
        f"  p[i] = ({c})(p[i] ^ (u64)i);",
        "return sum;",
    )
    w = rng.choice((1, 10, 900))
    m.call(f"{a.name}, {m.number(n // w)}, {m.number(w)}")


def pointer_walk(m: Maker):
    """Pointers that move until they meet an end or each other."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 2000)
    leaf, c = a.element.leaves[0], a.element.ctype
    body = rng.choice(
        (
            ["while (p != end) {", f"  {update(leaf, '*p', 'p[0]')}", "  p++;", "}"],
            ["while (end != p) {", "  --end;", f"  {update(leaf, '*end', '*p')}", "}"],
            ["while (p < end) {", f"  {c} t = *p;", "  *p++ = *--end;", "  *end = t;", "}"],
            [f"for ({c} *q = p; q < end; q += {rng.choice((1, 3, 64))})", f"  {update(leaf, '*q', '*p')}"],
        )
    )
    m.function(f"u64 {m.prefix}({c} *p, {c} *end)", f"{c} *first = p;", *body, "return (u64)(i64)*first;")
    n = rng.choice((a.length, a.length // 2, rng.randint(1, a.length)))
    m.call(f"{a.name}, {a.name} + {m.number(n)}")


def elimination(m: Maker):
    """Triangular over three loops, and the product of two small matrices."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 5000)
    leaf, c = a.element.leaves[0], a.element.ctype
    w = rng.choice((24, 48, 70))
    lead = min(a.length // w, rng.choice((w, 512, 3000)))
    if rng.random() < 0.5:
        body = [
            "for (int k = 0; k < n; k++)",
            "  for (int i = k + 1; i < n; i++)",
            "    for (int j = k; j < n; j++)",
            f"      {update(leaf, 'p[i * lead + j]', 'p[k * lead + j]')}",
        ]
    else:
        body = [
            "for (int i = 0; i < n; i++)",
            "  for (int j = 0; j <= i; j++) {",
            "    u64 s = 0;",
            "    for (int k = 0; k < n; k++)",
            "      s += (u64)(i64)p[i * lead + k] * (u64)(i64)p[k * lead + j];",
            f"    p[j * lead + i] = ({c})(s & 127);",
            "  }",
        ]
    m.function(f"u64 {m.prefix}({c} *p, int n, int lead)", *body, "return (u64)(i64)p[n / 2 * lead + n / 2];")
    m.call(f"{a.name}, {m.number(min(w, lead))}, {m.number(lead)}")


def churn(m: Maker):
    """Large blocks that come and go while a nest is open, a child's nest in them."""
    rng, a = m.rng, m.integers(20000)
    size = rng.choice((MIB, 3 * MIB // 2)) // 8
    keep = rng.choice(("", f"  q = checked(realloc(q, {size} * 12));"))
    m.function(
        f"u64 {m.prefix}({a.element.ctype} *p, i64 n, i64 m)",
        "u64 sum = 0;",
        "for (i64 k = 0; k < n; k++) {",
        f"  u64 *q = checked({rng.choice((f'malloc({size} * 8)', f'calloc({size}, 8)'))});",
        "  for (i64 i = 0; i < m; i++)",
        "    q[i] = (u64)p[(i * 3 + k) % n] + (u64)i;",
        *([keep] if keep else []),
        "  for (i64 i = m - 1; i >= 0; i--)",
        "    sum = sum * 3 + q[i];",
        f"  p[k] = ({a.element.ctype})sum;",
        "  free(q);",
        "}",
        "return sum;",
    )
    m.call(f"{a.name}, {m.number(rng.randint(1, 5))}, {m.number(rng.choice((size, size // 7, 0)))}")


def grow(m: Maker):
    """An array moves, because it grows, between two passes over it."""
    rng = m.rng
    a = m.array(lambda a: a.storage in ("malloc", "calloc", "realloc") and a.element.exact, 20000)
    if not a:
        return pointer_walk(m)
    more = a.bytes + rng.choice((MIB, 5000))
    m.function(
        f"u64 {m.prefix}(u64 bytes)",
        f"u64 sum = hash({a.name}, {a.bytes});",
        f"{a.name} = checked(realloc({a.name}, bytes));",
        f"return sum ^ hash({a.name}, {a.bytes / 2:.0f});",
    )
    m.call(m.number(more))


def beside(m: Maker):
    """Rows are summed up in one inner loop and stored in the next, in the same array, before, behind, or far away."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 200000)
    c, w = a.element.ctype, rng.choice((40, 513, 1030))
    rows = min(a.length // w, 1000000 // w)
    ends = rng.choice((0, 0, 1))
    reading = rng.choice(("p[(k * m + j) * w + i]", "p[(k * m + j) * w + i] / 2 + p[((k + 1) * m + j) * w + i] / 2", "p[i * m * n + k * m + j]"))
    m.function(
        f"u64 {m.prefix}(i64 n, i64 m, i64 w, i64 v, {c} *p, {c} *q)",
        f"{c} near[{w}] = {{0}};",
        "for (i64 k = 0; k < n; k++)",
        "  for (i64 j = 0; j < m; j++) {",
        "    for (i64 i = 0; i < v; i++)",
        f"      near[i] = ({c})(near[i] / 2 + ({reading}) / 4);",
        f"    for (i64 i = {ends}; i < w - {ends}; i++)",
        f"      q[(k * m + j) * w + i] = ({c})({'near[i]' if not ends else 'near[i - 1] / 2 + near[i + 1] / 2'} + 1);",
        "  }",
        f"return (u64)(i64)q[w / 2] + (u64)(i64)near[{w // 2}];",
    )
    planes = rng.choice((1, 2, 3, 5))
    m_rows = max(1, rows // (planes + 1))
    written = planes * m_rows * w
    read = written + m_rows * w
    for apart in rng.sample((0, w, 2 * w + 3, written, a.length), rng.randint(1, 3)):
        low, high = 0, min(apart, a.length - read)
        p, q = (low, high) if rng.random() < 0.5 else (high, low)
        v = rng.choice((w, w - 1, w // 2))
        m.call(f"{planes}, {m.number(m_rows)}, {m.number(w)}, {m.number(v)}, {a.name} + {p}, {a.name} + {q}")


def directions(m: Maker):
    """A plane is gone over in all four directions, by steps or choices that only the program knows; or in pairs."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 20000)
    leaf, c, w = a.element.leaves[0], a.element.ctype, rng.choice((40, 129, 1025))
    rows = max(3, min(a.length // w, 400000 // w))
    index = rng.choice(("int", "i64"))
    store = rng.choice((update(leaf, "p[i * w + j]", "p[(i - di) * w + j - dj]"), "p[i * w + j] = 1;"))
    ends = rng.choice(("i != (di > 0 ? n : -1)", "di > 0 ? i < n : i >= 0", "((di > 0 ? n - 1 : 0) - i) * di >= 0"))
    sweep = [
        f"for ({index} di = step; di >= -step; di -= 2 * step)",
        f"  for ({index} dj = 1; dj >= -1; dj -= 2)",
        f"    for ({index} i = di > 0 ? di : n - 1 + di; {ends}; i += di)",
        f"      for ({index} j = dj > 0 ? 1 : w - 2; dj > 0 ? j < w : j >= 0; j += dj)",
        f"        {store}",
    ]
    flips = [
        "for (int back = 0; back < 4; back++)",
        f"  for ({index} ii = step; ii < n; ii++)",
        f"    for ({index} jj = 1; jj < w; jj++) {{",
        f"      {index} i = back & 1 ? n - 1 - ii : ii, di = back & 1 ? -step : step;",
        f"      {index} j = back & 2 ? w - 1 - jj : jj, dj = back & 2 ? -1 : 1;",
        f"      {store}",
        "    }",
    ]
    pairs = [
        "for (u64 h = (u64)step; h < (u64)n * (u64)w / 2; h *= 3)",
        "  for (u64 i = 0; i + 2 * h <= (u64)n * (u64)w; i += 2 * h)",
        "    for (u64 j = i; j < i + h; j++) {",
        f"      {update(leaf, 'p[j]', 'p[j + h]')}",
        "      p[j + h] = p[j];",
        "    }",
    ]
    m.function(
        f"u64 {m.prefix}({index} n, {index} w, {index} step, {c} *p)",
        *rng.choice((sweep, flips, pairs)),
        "return (u64)(i64)p[n / 2 * w];",
    )
    for step in rng.sample((1, 1, 2, 3), rng.randint(1, 2)):
        n = rows // step * step  # so that it ends where it meets its bound
        m.call(f"{m.number(n)}, {m.number(w)}, {m.number(step)}, {a.name}")


def periodic(m: Maker):
    """A plane whose ends meet: neighbours by tests, corrections or rests; or one place that is left out for another."""
    rng, a = m.rng, m.array(lambda a: len(a.element.leaves) == 1, 20000)
    leaf, c, w = a.element.leaves[0], a.element.ctype, rng.choice((3, 40, 129, 1025))
    rows = min(a.length // w, 400000 // w)
    index, d = rng.choice(("int", "i64", "u64", "unsigned")), rng.choice((1, 1, 2))
    signed = index in ("int", "i64")

    def next_of(x: str, n: str) -> str:
        return rng.choice((f"{x} + {d} >= {n} ? {x} + {d} - {n} : {x} + {d}", f"({x} + {d}) % {n}", f"{x} == {n} - 1 ? 0 : {x} + 1"))

    def before(x: str, n: str) -> str:
        forms = [f"{x} < {d} ? {x} + {n} - {d} : {x} - {d}", f"({x} + {n} - {d}) % {n}", f"{x} == 0 ? {n} - 1 : {x} - 1"]
        return rng.choice(forms + [f"({x} - {d} + {n}) % {n}", f"{x} - {d} < 0 ? {x} - {d} + {n} : {x} - {d}"] * signed)

    neighbours = rng.sample(("p[down * w + j]", "p[up * w + j]", "p[i * w + right]", "p[i * w + left]"), rng.randint(1, 3))
    place = rng.choice("pq") + "[(ii == which ? which / 2 : i) * w + j]"
    times = rng.choice(("n", "n", "2 * n", "n - 1"))
    m.function(
        f"u64 {m.prefix}({index} n, {index} w, {index} which, {c} *p, {c} *q)",
        f"for ({index} ii = 0; ii < {times}; ii++) {{",
        f"  const {index} i = ii % n, down = {next_of('i', 'n')}, up = {before('i', 'n')};",
        f"  for ({index} j = 0; j < w; j++) {{",
        f"    const {index} right = {next_of('j', 'w')}, left = {before('j', 'w')};",
        *(f"    {update(leaf, place, neighbour)}" for neighbour in neighbours),
        "  }",
        "}",
        "return (u64)(i64)p[n / 2 * w] + (u64)(i64)q[w / 2];",
    )
    n = rows // 2
    for q in rng.sample((0, w, n * w, a.length - n * w), rng.randint(1, 2)):
        m.call(f"{m.number(n)}, {m.number(w)}, {rng.randrange(n)}, {a.name}, {a.name} + {min(q, a.length - n * w)}")


SHAPES = [
    beside,
    vla,
    row_pointers,
    time_steps,
    tiny,
    memory_functions,
    recursion,
    long_jump,
    pointer_walk,
    elimination,
    churn,
    grow,
    directions,
    periodic,
]
