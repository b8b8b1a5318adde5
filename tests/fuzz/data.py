# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arrays of a random program: their elements, where they are kept, what they hold at first.

Invariants that every unit relies on and keeps, so that no program has undefined or unportable behaviour:
  - an array with a limit holds indices below it, and only units that know this store into it;
  - all other integers may hold anything; they are computed with as uint64_t;
  - a float or double is finite and at most 2048 in absolute value, so no NaN, whose bits depend on the code;
  - structs have no padding, so that all bytes of an array can be hashed.

The large arrays together exceed the runtime's least budget of 16 MiB less what it takes for itself, and the
ballast, which is never touched, makes the runtime page from the beginning where it is allocated first."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Leaf:
    """A number in an element: the element itself, or a field of a struct."""

    path: str  # '' or '.field'
    ctype: str
    real: bool = False


@dataclass(frozen=True)
class Element:
    ctype: str
    size: int
    leaves: tuple[Leaf, ...]

    @property
    def integer(self) -> bool:
        return len(self.leaves) == 1 and not self.leaves[0].real

    @property
    def exact(self) -> bool:
        """Any bytes are a value of it."""
        return not any(leaf.real for leaf in self.leaves)


def number(ctype: str, size: int, real: bool = False) -> Element:
    return Element(ctype, size, (Leaf("", ctype, real),))


def struct(ctype: str, size: int, **fields: str) -> Element:
    return Element(ctype, size, tuple(Leaf(f".{name}", c, c in ("float", "double")) for name, c in fields.items()))


INTEGERS = [number(f"{sign}{bits}", bits // 8) for bits in (8, 16, 32, 64) for sign in "iu"]
REALS = [number("float", 4, True), number("double", 8, True)]
STRUCTS = [
    struct("pair", 16, key="u32", tag="i32", v="double"),
    struct("point", 12, x="float", y="float", z="float"),
    struct("rgb", 3, r="u8", g="u8", b="u8"),
    struct("row9", 72, head="u64", left="i32", right="u32", v="double"),
    struct("mixed", 24, a="u64", b="i32", c="u16", d="i16", e="double"),
]
BYTES = INTEGERS[1]
# Read and written through a pointer that need not be aligned.
UNALIGNED = [number("u16_any", 2), number("u32_any", 4), number("i64_any", 8)]
INDICES = [e for e in INTEGERS if e.ctype in ("u16", "i32", "u32", "i64", "u64")]

STORAGES = ("global", "global", "malloc", "malloc", "calloc", "realloc", "mmap", "aligned")

PRELUDE = """\
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))
#define ANY __attribute__((aligned(1), may_alias))
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef u16 ANY u16_any;
typedef u32 ANY u32_any;
typedef i64 ANY i64_any;
typedef struct { u32 key; i32 tag; double v; } pair;
typedef struct { float x, y, z; } point;
typedef struct { u8 r, g, b; } rgb;
typedef struct { u64 head; i32 left; u32 right; double v; double more[6]; } row9;
typedef struct { u64 a; i32 b; u16 c; i16 d; double e; } mixed;

static inline u64 mix(u64 x) {
  x *= 0x9e3779b97f4a7c15u;
  return x ^ x >> 29;
}
static NOINLINE u64 hash(const void *data, u64 bytes) {
  u64 h = 14695981039346656037u, word;
  for (u64 i = 0; i + 8 <= bytes; i += 8) {
    memcpy(&word, (const u8 *)data + i, 8);
    h = (h ^ word) * 1099511628211u;
    h ^= h >> 31;
  }
  return h;
}
static NOINLINE void fill(void *data, u64 bytes, u64 seed) {
  for (u64 i = 0; i + 8 <= bytes; i += 8) {
    u64 word = mix(i ^ seed);
    memcpy((u8 *)data + i, &word, 8);
  }
}
static void *checked(void *p) {
  if (!p || p == MAP_FAILED)
    abort();
  return p;
}
static int show_all; // with an argument: hash all arrays after each unit, which tells the first that differs
"""


@dataclass
class Array:
    name: str
    element: Element
    length: int
    storage: str
    limit: int | None = None
    seed: int = 1

    @property
    def bytes(self) -> int:
        return self.element.size * self.length

    def declaration(self) -> str:
        c = self.element.ctype
        return f"static {c} {self.name}[{self.length}];" if self.storage == "global" else f"static {c} *{self.name};"

    def allocation(self) -> list[str]:
        n, size = self.name, self.bytes
        how = {
            "global": None,
            "malloc": f"malloc({size})",
            "calloc": f"calloc({self.length}, {self.element.size})",
            "mmap": f"mmap(NULL, {size}, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
            "aligned": f"aligned_alloc(8192, {(size + 8191) // 8192 * 8192})",
            "realloc": f"realloc({n}, {size})",
        }[self.storage]
        grown = [f"{n} = checked(malloc({size // 3 + 8}));", f"fill({n}, {size // 3}, 7);"] if self.storage == "realloc" else []
        return grown + ([f"{n} = checked({how});"] if how else [])

    def filling(self) -> list[str]:
        if self.limit is not None:
            value = f"({self.element.ctype})(mix(i + {self.seed}) % {self.limit})"
            return [f"for (u64 i = 0; i < {self.length}; i++) {self.name}[i] = {value};"]
        if self.element.exact:
            return [f"fill({self.name}, {self.bytes}, {self.seed});"]
        parts = []
        if self.element.ctype == "row9":
            parts.append(f"memset({self.name}, 0, {self.bytes});")
        stores = []
        for k, leaf in enumerate(self.element.leaves):
            h = f"mix(i * {len(self.element.leaves)} + {k + self.seed})"
            value = f"(({leaf.ctype})({h} & 4095) - 2048) / 2" if leaf.real else f"({leaf.ctype}){h}"
            stores.append(f"{self.name}[i]{leaf.path} = {value};")
        return parts + [f"for (u64 i = 0; i < {self.length}; i++) {{ {' '.join(stores)} }}"]


def split(rng, total: int, parts: int) -> list[int]:
    """Random sizes of that sum, none less than an eighth of its even share."""
    weights = [rng.uniform(0.25, 2) for _ in range(parts)]
    return [int(total * w / sum(weights)) for w in weights]


def make_arrays(rng) -> list[Array]:
    """14 to 19 MiB of large arrays and a few KiB of small ones, of all kinds of elements."""
    arrays: list[Array] = []

    def add(element, size, limit=None, small=False):
        storage = rng.choice(("global", "malloc")) if small else rng.choice(STORAGES)
        length = max(64, size // element.size // 8 * 8)  # whole words, as fill and hash want them
        arrays.append(Array(f"A{len(arrays)}", element, length, storage, limit, rng.randrange(1 << 20)))

    kinds = [rng.choice(INTEGERS[4:]), rng.choice(INTEGERS), rng.choice(REALS), rng.choice(STRUCTS + INTEGERS)]
    while len(kinds) < rng.randrange(4, 7):
        kinds.append(rng.choice(kinds + INTEGERS + REALS))
    index_bytes = rng.choice((MIB // 2, MIB, 2 * MIB))
    for element, size in zip(kinds, split(rng, rng.randrange(14 * MIB, 19 * MIB) - index_bytes, len(kinds))):
        add(element, size)
    for element in rng.choices(INTEGERS + REALS, k=2):
        add(element, rng.choice((400, 4000, 40000)), small=True)
    index = rng.choice(INDICES)
    most = 1 << 16 if index.ctype == "u16" else 1 << 30
    add(index, index_bytes, min(most, rng.choice([a.length for a in arrays[: len(kinds)]])))
    # Indices of indices, or of a small target that stays in memory.
    index = rng.choice(INDICES)
    add(index, rng.choice((20000, 200000)), min(1 << 16, rng.choice(arrays).length), small=True)
    return arrays
