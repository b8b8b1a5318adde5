# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of a given shape whose addresses or trip counts come from data."""

from shapes import update
from units import Maker


def single(array) -> bool:
    return len(array.element.leaves) == 1


def sparse(m: Maker):
    """Rows between bounds from memory, some of them empty, times a vector: gathered, or scattered."""
    rng, p, index, values = m.rng, m.prefix, m.index(), m.array(single, 1000)
    target = m.array(lambda a: single(a) and a.length >= index.limit) or None
    if target is None:
        return chain(m)
    leaf, v, t = target.element.leaves[0], values.name, target.name
    most = min(index.length, values.length, 30000)
    rows, width = rng.choice((100, 3000)), rng.choice((3, 20))
    ctype = rng.choice(("int", "i64", "u32"))
    m.unit.code.append(f"static {ctype} {p}_row[{rows + 1}];")
    m.function(
        f"void {p}_rows(int rows)",
        f"for (int i = 0; i < rows; i++) {{",
        f"  u64 next = (u64){p}_row[i] + mix((u64)i) % {width};",
        f"  {p}_row[i + 1] = ({ctype})(next < {most} ? next : {most});",
        "}",
    )
    order = rng.choice(
        ("int i = 0; i < rows; i++", "int i = rows - 1; i >= 0; i--", f"int i = 0; i < rows; i += {rng.randint(2, 5)}")
    )
    inner = rng.choice(
        (
            f"s += (u64)(i64){v}[k] * (u64)(i64){t}[{index.name}[k]];",
            update(leaf, f"{t}[{index.name}[k]]", "i"),
            f"if (((u64)(i64){v}[k] & 63) == 9) break; else s += (u64)(i64){t}[{index.name}[k]];",
        )
    )
    m.function(
        f"u64 {p}(int rows)",
        "u64 sum = 0;",
        f"for ({order}) {{",
        "  u64 s = 1;",
        f"  for ({ctype} k = {p}_row[i]; k < {p}_row[i + 1]; k++)",
        f"    {inner}",
        "  sum = sum * 3 + s;",
        "}",
        "return sum;",
    )
    m.unit.calls.append(f"{p}_rows({rows});")
    m.call(m.number(rows))


def chain(m: Maker):
    """From index to index, as in a linked list."""
    index = m.index()
    m.function(
        f"u64 {m.prefix}(u64 i, int steps)",
        "u64 sum = 0;",
        f"while (steps-- > 0 && i < {index.length}) {{",
        f"  i = (u64){index.name}[i];",
        f"  sum = sum * 3 + i;",
        "}",
        "return sum;",
    )
    m.call(f"{m.rng.randrange(index.length)}, {m.number(m.rng.choice((100, 4000)))}")


def search(m: Maker):
    """Ends at what it looks for, or not; rows of a matrix, each left early."""
    rng, a = m.rng, m.integers()
    mask, w = rng.choice((255, 4095, 65535)), rng.choice((100, 5000))
    n = min(a.length, 300000)
    m.function(
        f"u64 {m.prefix}({a.element.ctype} *p, i64 n, i64 w, u64 wanted)",
        "u64 sum = 0;",
        "for (i64 i = 0; i + w <= n; i += w) {",
        "  i64 j;",
        "  for (j = 0; j < w; j++)",
        f"    if (((u64)p[i + j] & {mask}) == wanted)",
        rng.choice(("      break;", "      goto next;")),
        "  sum += 1;",
        "next:",
        "  sum = sum * 7 + (u64)j;",
        *(["  if (j == 5) return sum;"] if rng.random() < 0.3 else []),
        "}",
        "return sum;",
    )
    m.call(f"{a.name}, {m.number(n)}, {m.number(min(w, n))}, {m.number(rng.randint(0, min(mask, 255)))}")


def hops(m: Maker):
    """The data say how far to go on."""
    rng, a = m.rng, m.integers()
    body = rng.choice(
        (
            ["while (i < n) {", "  sum += (u64)p[i];", f"  i += ((u64)p[i] & {rng.choice((1, 7, 1023))}) + 1;", "}"],
            [
                "do {",
                f"  p[i] = ({a.element.ctype})(p[i] + 1);",
                f"  i += 1 + (sum++ & {rng.choice((0, 3))});",
                "} while (i < n && (p[i] & 255) != 77);",
            ],
            ["while (i < n && i >= 0)", "  i += (p[i] & 1) ? 3 : sum++ % 5 == 4 ? -1 : 2;"],
        )
    )
    m.function(f"u64 {m.prefix}({a.element.ctype} *p, i64 n)", "u64 sum = 0;", "i64 i = 0;", *body, "return sum + (u64)i;")
    m.call(f"{a.name}, {m.number(min(a.length, 300000))}")


def hash_table(m: Maker):
    """Open addressing in an array of zeros: places come from keys, probes from what is there."""
    rng, a = m.rng, m.integers()
    bits = rng.choice((12, 16, 18))
    m.unit.code.append(f"static u32 {m.prefix}_table[{1 << bits}];")
    keys = min(a.length, (1 << bits) // 2, 15000)
    m.function(
        f"u64 {m.prefix}(const {a.element.ctype} *p, i64 n)",
        "u64 probes = 0;",
        "for (i64 i = 0; i < n; i++) {",
        "  u32 key = (u32)p[i] | 1u;",
        f"  u64 h = mix(key) & {(1 << bits) - 1};",
        f"  while ({m.prefix}_table[h] && {m.prefix}_table[h] != key) {{",
        f"    h = (h + 1) & {(1 << bits) - 1};",
        "    probes++;",
        "  }",
        f"  {m.prefix}_table[h] = key;",
        "}",
        "return probes;",
    )
    m.call(f"{a.name}, {m.number(keys)}")
    m.unit.calls.append(f"r ^= hash({m.prefix}_table, sizeof {m.prefix}_table);")


def buckets(m: Maker):
    """Lists in arrays: what is looked for may be anywhere in its list, and is stored to, or moved to the front."""
    rng, a = m.rng, m.integers()
    bits, n = rng.choice((4, 10, 16)), min(a.length, 15000)
    at = f"mix((u64)p[i]) & {(1 << bits) - 1}"
    m.unit.code.append(f"static int {m.prefix}_head[{1 << bits}], {m.prefix}_next[{n + 1}];")
    m.unit.code.append(f"static u64 {m.prefix}_count[{n + 1}];")
    found = rng.choice(
        (
            [f"if (j) {m.prefix}_count[j]++;"],
            [f"{m.prefix}_count[j] += (u64)i;", f"sum = sum * 3 + {m.prefix}_count[j];"],
            [f"for (int k = 0; k < {rng.choice((3, 700))} && k <= j; k++)", f"  sum += {m.prefix}_count[j - k] += (u64)k;"],
        )
    )
    m.function(
        f"u64 {m.prefix}(const {a.element.ctype} *p, int n)",
        "u64 sum = 0;",
        "for (int i = 0; i < n; i++) {",
        f"  int j = {m.prefix}_head[{at}];",
        *rng.choice(
            (
                ["  while (j && p[j - 1] != p[i])", f"    j = {m.prefix}_next[j];"],
                [f"  for (; j; j = {m.prefix}_next[j])", "    if (p[j - 1] == p[i])", "      break;", "    else", "      sum++;"],
            )
        ),
        *("  " + line for line in found),
        f"  if (!j && i < {n - 1}) {{",
        f"    {m.prefix}_next[i + 1] = {m.prefix}_head[{at}];",
        f"    {m.prefix}_head[{at}] = i + 1;",
        "  }",
        "}",
        "return sum;",
    )
    m.call(f"{a.name}, {m.number(n)}")
    m.unit.calls.append(f"r ^= hash({m.prefix}_count, sizeof {m.prefix}_count);")


def counting_sort(m: Maker):
    """Count, sum up, move: three nests, the last one scattered."""
    rng, a = m.rng, m.integers()
    n, bits = min(a.length // 2, 15000), rng.choice((6, 12))
    c, mask = a.element.ctype, (1 << bits) - 1
    m.function(
        f"u64 {m.prefix}(const {c} *p, {c} *q, int n)",
        f"static u32 count[{1 << bits}];",
        "memset(count, 0, sizeof count);",
        "for (int i = 0; i < n; i++)",
        f"  count[(u64)p[i] & {mask}]++;",
        f"for (int i = 1; i <= {mask}; i++)",
        "  count[i] += count[i - 1];",
        "for (int i = n - 1; i >= 0; i--)",
        f"  q[--count[(u64)p[i] & {mask}]] = p[i];",
        "return count[1];",
    )
    m.call(f"{a.name}, {a.name} + {a.length - n}, {m.number(n)}")


def partition(m: Maker):
    """Two indices that approach each other by what they find."""
    a = m.integers()
    c, n = a.element.ctype, min(a.length, 300000)
    m.function(
        f"u64 {m.prefix}({c} *p, i64 n)",
        "i64 i = 0, j = n - 1;",
        f"{c} pivot = p[n / 2];",
        "while (i <= j) {",
        "  while (p[i] < pivot)",
        "    i++;",
        "  while (p[j] > pivot)",
        "    j--;",
        "  if (i <= j) {",
        f"    {c} t = p[i];",
        "    p[i++] = p[j];",
        "    p[j--] = t;",
        "  }",
        "}",
        "return (u64)i;",
    )
    m.call(f"{a.name} + {a.length - n}, {m.number(n)}")


def rewritten_index(m: Maker):
    """Indices change just before they are used: what ran ahead has seen the old ones."""
    rng, index = m.rng, m.index()
    target = m.array(lambda a: single(a) and a.length >= index.limit)
    if not target:
        return chain(m)
    leaf, ahead = target.element.leaves[0], rng.choice((0, 1, 500))
    n = min(index.length - ahead, 15000)
    m.function(
        f"u64 {m.prefix}({index.element.ctype} *b, int n)",
        "u64 sum = 0;",
        "for (int i = 0; i < n; i++) {",
        f"  b[i + {ahead}] = ({index.element.ctype})((u64)b[i] * 5 % {index.limit});",
        f"  {update(leaf, f'{target.name}[b[i]]', 'i')}",
        f"  sum += (u64)(i64){target.name}[b[i]];",
        "}",
        "return sum;",
    )
    m.call(f"{index.name}, {m.number(n)}")


def dispatch(m: Maker):
    """What is done, and where, hangs on a switch or on a function pointer."""
    rng, a, b = m.rng, m.integers(), m.integers()
    n = min(a.length, b.length, 15000 if b.bytes > 262144 else 200000)
    c = b.element.ctype
    far = f"mix((u64)i) % {b.length}" if n <= 15000 else "i"
    m.function(f"void {m.prefix}_one({c} *p, i64 i)", f"p[i] = ({c})(p[i] + 1);")
    m.function(f"void {m.prefix}_two({c} *p, i64 i)", f"p[i / 2] = ({c})(p[i / 2] ^ i);")
    m.function(
        f"u64 {m.prefix}(const {a.element.ctype} *p, {c} *q, i64 n)",
        f"void (*const what[2])({c} *, i64) = {{{m.prefix}_one, {m.prefix}_two}};",
        "u64 sum = 0;",
        "for (i64 i = 0; i < n; i++)",
        "  switch ((u64)p[i] & 7) {",
        "  case 0:",
        f"    q[{far}] = ({c})sum;",
        "    break;",
        "  case 1:",
        "  case 2:",
        "    sum += (u64)q[n - 1 - i];",
        "    break;",
        "  case 3:",
        "    what[i & 1](q, i);",
        "    break;",
        "  default:",
        "    sum ^= (u64)i;",
        "  }",
        "return sum;",
    )
    m.call(f"{a.name}, {b.name}, {m.number(n)}")


def strings(m: Maker):
    """Bytes up to one that ends them."""
    rng, a = m.rng, m.integers()
    m.function(
        f"u64 {m.prefix}(u8 *s, u64 n)",
        "u64 sum = 0;",
        "u8 *end = s + n;",
        "u8 last = *--end;",
        f"*end = {rng.randrange(256)};",
        "for (int k = 0; k < 400; k++) {",
        "  u8 *t = s;",
        "  while (*t != *end)",
        "    sum = sum * 3 + *t++;",
        "  if (t == end)",
        "    break;",
        "  *t += 1;",
        f"  s = t + (u64){rng.choice((0, 1, 1, 900))} < end ? t + {rng.choice((0, 1))} : t;",
        "}",
        "*end = last;",
        "return sum;",
    )
    m.call(f"(u8 *){a.name}, {m.number(min(a.bytes, 300000))}")


def bisect(m: Maker):
    """Binary searches: each place depends on what was found at the last."""
    a = m.integers()
    m.function(
        f"u64 {m.prefix}(const {a.element.ctype} *p, u64 n, int times)",
        "u64 sum = 0;",
        "for (int k = 0; k < times; k++) {",
        "  u64 low = 0, high = n;",
        "  while (low < high) {",
        "    u64 middle = (low + high) / 2;",
        "    if ((u64)p[middle] < mix((u64)k) >> (k & 63))",
        "      low = middle + 1;",
        "    else",
        "      high = middle;",
        "  }",
        "  sum = sum * 3 + low;",
        "}",
        "return sum;",
    )
    m.call(f"{a.name}, {m.number(a.length)}, {m.number(m.rng.choice((10, 700)))}")


def descents(m: Maker):
    """Ways down a tree whose nodes are searched themselves; what is at their ends is read, or stored to."""
    rng, a, p = m.rng, m.array(single, 1000), m.prefix
    nodes, keys, leaf = rng.choice((30, 3000, 40000)), rng.choice((1, 2, 7)), a.element.leaves[0]
    ctype = rng.choice(("u32", "int", "i64"))
    m.unit.code.append(f"static {ctype} {p}_key[{nodes}][{keys}], {p}_child[{nodes}][{keys + 1}];")
    m.function(
        f"void {p}_make(void)",
        f"for (i64 i = 0; i < {nodes}; i++)",
        f"  for (int c = 0; c <= {keys}; c++) {{",
        f"    i64 child = i * {keys + 1} + c + 1;",
        f"    {p}_child[i][c] = ({ctype})(child < {nodes} && mix((u64)child) % 64 ? child : 0);",
        f"    if (c < {keys})",
        f"      {p}_key[i][c] = ({ctype})(mix((u64)child) % 1000);",
        "  }",
    )
    inside = rng.choice((f"c < {keys} && {p}_key[at][c] < k", f"c < {keys} && {p}_key[at][c] != k"))
    down = rng.choice(
        (
            ("do {", f"}} while ((at = {p}_child[at][c]));"),
            ("for (;;) {", f"  {ctype} next = {p}_child[at][c];", "  if (!next)", "    break;", "  at = next;", "}"),
        )
    )
    use = rng.choice((update(leaf, f"{a.name}[((u64)at * 7 + (u64)c) % {a.length}]", "i"), f"sum = sum * 3 + (u64)at;"))
    m.function(
        f"u64 {p}(i64 times)",
        "u64 sum = 0;",
        "for (i64 i = 0; i < times; i++) {",
        f"  {ctype} at = 0, k = ({ctype})(mix((u64)i) % 1000);",
        "  int c;",
        f"  {down[0]}",
        f"    for (c = 0; {inside}; c++)",
        "      ;",
        *(f"  {line}" for line in down[1:]),
        f"  {use}",
        "  sum += (u64)c;",
        "}",
        "return sum;",
    )
    m.unit.calls.append(f"{p}_make();")
    m.call(f"{m.number(rng.choice((0, 10, 3000)))}")


def marked_end(m: Maker):
    """Indices up to a mark, under a bound far beyond, in memory that ends there: who runs ahead must not run on."""
    rng, a = m.rng, m.array(single, 1000)
    leaf, count, p = a.element.leaves[0], rng.choice((400, 5000, 15000)), m.prefix
    ctype = rng.choice(("u32", "i64"))
    bytes_ = count * (4 if ctype == "u32" else 8)
    m.unit.code.append(f"static {ctype} *{p}_marked;")
    m.function(
        f"void {p}_make(u64 bytes, u64 pages)",
        "u8 *all = checked(mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));",
        f"mprotect(all + pages, 4096, PROT_NONE);",
        f"{p}_marked = ({ctype} *)(all + pages - bytes);",
        f"for (i64 i = 0; i < {count}; i++)",
        f"  {p}_marked[i] = ({ctype})(mix((u64)i) % {a.length});",
        f"{p}_marked[{count - 1}] = ({ctype})-1;",
    )
    bound = rng.choice(("1l << 40", "1l << 31", f"{count} + 100000"))
    m.function(
        f"u64 {p}(i64 n, i64 rows)",
        "u64 sum = 0;",
        "for (i64 r = 0; r < rows; r++)",
        "  for (i64 i = 0; i < n; i++) {",
        f"    if ({p}_marked[i] == ({ctype})-1)",
        "      break;",
        f"    {update(leaf, f'{a.name}[{p}_marked[i]]', 'i')}",
        f"    sum += (u64)(i64){a.name}[{p}_marked[i]];",
        "  }",
        "return sum;",
    )
    m.unit.calls.append(f"{p}_make({bytes_}, {(bytes_ + 4095) // 4096 * 4096});")
    m.call(f"{m.number(0)} + ({bound}), {m.number(rng.choice((0, 1, 3)))}")


def worklist(m: Maker):
    """A list that grows and shrinks while it is gone over, and moves when it needs more room."""
    rng, a, p = m.rng, m.array(single, 1000), m.prefix
    most, first = rng.choice((300, 5000, 40000)), rng.choice((1, 20, 1000))
    leaf, ctype = a.element.leaves[0], rng.choice(("u32", "int", "i64"))
    add = (
        f"if (tail == room) list = checked(realloc(list, (room *= 2) * sizeof *list));",
        f"list[tail++] = ({ctype})(x % {a.length});",
    )
    grow = rng.choice(
        (
            (f"if (x % 3 && tail < {most}) {{", *add, "}"),
            (f"for (u64 e = x % {rng.choice((3, 9))}; e > 0 && tail < {most}; e--) {{", "x = mix(x + e);", *add, "}"),
            (f"if (x % 3 && tail < {most}) {{", *add, "} else if (x % 11 == 5) {", "tail--;", "}"),
        )
    )
    going = rng.choice(("head < tail", "head < tail", "head != tail", "head + 1 <= tail"))
    if going == "head != tail" and "tail--;" in grow:
        going = "head < tail"  # it shrinks, perhaps to less than the head
    use = rng.choice((update(leaf, f"{a.name}[at]", "head"), f"x += (u64)(i64){a.name}[at];", f"if (x % 977 == 3) break;"))
    turn = rng.choice(("", "", f" & {p}_mask", f" % ({p}_mask + 1)"))  # a ring: it comes round to what has been gone over
    if turn:
        grow = (f"if (x % 3 && tail < {most} && tail - head < (i64){p}_mask)", f"  list[tail++{turn}] = ({ctype})(x % {a.length});")
        m.unit.code.append(f"static u64 {p}_mask = 1;")
    m.function(
        f"u64 {p}(i64 tail, u64 x)",
        f"i64 room = tail + {rng.choice((1, 500, most))}, head = 0;",
        *((f"while ({p}_mask < (u64)room)", f"  {p}_mask = {p}_mask * 2 + 1;", f"room = (i64){p}_mask + 1;") if turn else ()),
        f"{ctype} *list = checked(malloc(room * sizeof *list));",
        "for (i64 i = 0; i < tail; i++)",
        f"  list[i] = ({ctype})(mix((u64)i + x) % {a.length});",
        f"while ({going}) {{",
        f"  i64 at = (i64)list[head++{turn}];",
        f"  x = mix(x + (u64)(i64){a.name}[at]);",
        f"  {use}",
        *(f"  {line}" for line in grow),
        "}",
        "free(list);",
        "return x + (u64)head + (u64)tail;",
    )
    m.call(f"{m.number(first)}, {rng.randrange(1 << 30)}u")


def generator(m: Maker):
    """Places that one iteration tells the next: a random generator, or a hash that takes in what is read."""
    rng, a, b, p = m.rng, m.array(single, 1000), m.integers(), m.prefix
    leaf, ctype = a.element.leaves[0], rng.choice(("u64", "u32", "int"))
    n, rows = rng.choice((100, 3000, 50000)), rng.choice((1, 3, 20))
    each = min(b.length // rows, n)
    value = f"(u64){b.name}[r * {each} + i]"
    step = rng.choice(
        (
            "x = (T)((u64)x * 6364136223846793005u + 1442695040888963407u);",
            "x = (T)((u64)x << 1 ^ ((i64)(u64)x < 0 ? 7 : 0));",
            f"x = (T)(((u64)x << 2 ^ {value}) & 0xfffffff);",
            f"x = (T)((u64)x * 31 + {value});",
            f"x = (T)((u64)x >> 7 | (u64)x << 57) ^ (T){value};",
            f"if ({value} % 5 == 1) x = (T)(x ^ 12345); else x = (T)((u64)x * 3 + 1);",
            f"y = (T)((u64)x ^ (u64)y << 3); x = (T)((u64)y * 2654435761u >> 5);",
            f"x = (T)(((u64)x + {value}) % {a.length});",
        )
    ).replace("(T)", f"({ctype})")
    at = rng.choice((f"(u64)x % {a.length}", f"(u64)x >> 7 & {(1 << (a.length.bit_length() - 1)) - 1}"))
    m.function(
        f"u64 {p}({ctype} x)",
        f"u64 sum = 0;",
        f"{ctype} y = x;",
        f"for (i64 r = 0; r < {m.number(rows)}; r++) {{",
        *rng.choice(((), ("  x = y;",), (f"  x = ({ctype})(x ^ r);",))),
        f"  for (i64 i = 0; i < {each}; i++) {{",
        f"    {step}",
        f"    u64 at = {at};",
        *rng.choice(
            (
                (f"    {update(leaf, f'{a.name}[at]', 'i')}",),
                (f"    sum = sum * 3 + (u64)(i64){a.name}[at];",),
                (f"    if (i > {rng.choice((3, 500))}) sum += (u64)(i64){a.name}[at];",),
                (f"    if (sum % 4000 == 3999) break;", f"    sum += (u64)(i64){a.name}[at] + 1;"),
            )
        ),
        "  }",
        "}",
        "return sum + (u64)x + (u64)y;",
    )
    m.call(f"({ctype}){rng.randrange(1, 1 << 30)}")


def cells(m: Maker):
    """Places that floating-point numbers say: cells of particles, bins, coordinates."""
    rng, a, b, p = m.rng, m.array(single, 1000), m.integers(), m.prefix
    leaf, real = a.element.leaves[0], rng.choice(("float", "double"))
    n = min(b.length, 30000)
    value = f"(({real})((u64){b.name}[i] & {rng.choice((255, 65535, 0xFFFFFF))}))"
    number = rng.choice(
        (
            f"{value} / most",
            f"{value} * most - ({real})i",
            f"({real})(i % 77) + {value} * ({real})0.37",
            f"-{value} + most",
            f"x * ({real})1.5 + {value} > most * 100 ? ({real})i : x * ({real})1.5 + {value}",
            f"{value} < most ? {value} : ({real})(i * 3)",
        )
    )
    whole = rng.choice(("(i64)x", "(i64)x - (x < (double)(i64)x)", "(i64)__builtin_fabs(x)", "(int)(float)x", "(i64)(x / 3) ^ (i64)x"))
    m.function(
        f"u64 {p}({real} most, i64 n)",
        "u64 sum = 0;",
        f"{real} x = 1;",
        "for (i64 i = 0; i < n; i++) {",
        f"  x = {number};",
        f"  if (!(x > -1e8 && x < 1e8)) x = 1;",
        f"  u64 at = (u64)({whole}) % {a.length};",
        *rng.choice(
            (
                (f"  {update(leaf, f'{a.name}[at]', 'i')}",),
                (f"  sum = sum * 3 + (u64)(i64){a.name}[at];",),
                (f"  if (x < most) sum += (u64)(i64){a.name}[at];",),
                (f"  if (x == most * 7) break;", f"  sum += (u64)(i64){a.name}[at] + 1;"),
            )
        ),
        "}",
        "return sum + (u64)(i64)x;",
    )
    m.call(f"{rng.choice((0.5, 3, 17.25, 100, 3000))}, {m.number(n)}")


IRREGULAR = [
    cells,
    generator,
    descents,
    worklist,
    sparse,
    sparse,
    chain,
    search,
    hops,
    hash_table,
    buckets,
    counting_sort,
    partition,
    rewritten_index,
    dispatch,
    strings,
    bisect,
    marked_end,
]
