// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between code that the pass emits (compiler/) and the run-time layer (runtime/).
// Plain C, fixed-width, versioned: a program and a runtime of different versions refuse each other
// and the program runs without hints. The words are those of docs/ARCHITECTURE.md.
//
// One nest, as emitted (see compiler/Emit.h for nests of several loops):
//
//     footprint = trips[0] * ... * trips[loops-1] * bytes        one multiplication per loop
//     ticket    = NULL, count = trips of the ticked loop
//     if (footprint >= __pagecast_gate)                           predicted not taken when nothing is paged
//         { ticket, count } = __pagecast_enter(&nest, words...)
//     do
//         strip of `count` iterations of the ticked loop, with no call in it
//     while (ticket && (count = __pagecast_next(ticket, iterations left)))
//     if (ticket)  __pagecast_exit(ticket)                        on other edges that leave the nest
#ifndef PAGECAST_ABI_H
#define PAGECAST_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAGECAST_ABI_VERSION 2u
#define PAGECAST_MAX_LOOPS 8u
#define PAGECAST_MAX_GROUPS 32u
#define PAGECAST_MAX_LIVE 96u
#define PAGECAST_REGISTER_WORDS 6u ///< up to so many dynamic words are passed in registers

/// What a group's references do (pagecast_group.flags).
enum {
  PAGECAST_READS = 1u,        ///< some reference loads
  PAGECAST_WRITES = 2u,       ///< some reference stores: its pages are fetched writable
  PAGECAST_INDIRECT = 4u,     ///< addresses come from the nest's slice, not from strides
  PAGECAST_INDEX = 8u,        ///< the slice reads it: fetched further ahead than the rest
  PAGECAST_CONDITIONAL = 16u, ///< not executed in every iteration
};

/// The static description of one group. Iteration (i0, i1, ...) touches the bytes
/// [base + lo + sum(stride[k] * ik), base + hi + sum(stride[k] * ik)).
typedef struct pagecast_group {
  uint32_t flags;
  uint32_t element; ///< bytes of one access (the largest, if they differ)
  int64_t lo;       ///< offset of the first byte of the lowest reference
  int64_t hi;       ///< offset past the last byte of the highest reference
  uint32_t line;    ///< of the leading reference, 0 if unknown
  uint32_t column;
  const char *name; ///< of the array or pointer in the source, or NULL
} pagecast_group;

/// One indirect group while its slice runs: where hints for it make sense, and where they go.
/// The slice's inlined filter is:
///     if (address - low < size && !(map[address >> shift >> 3] >> (address >> shift & 7) & 1)) miss(touch, address);
typedef struct pagecast_touch {
  uint64_t low;       ///< first byte of the region that holds the target
  uint64_t size;      ///< its length in bytes; 0 = drop every hint
  const uint8_t *map; ///< the residency map, indexed by page number
  uint64_t shift;     ///< log2 of the page size
  void (*miss)(struct pagecast_touch *, uint64_t address);
} pagecast_touch;

/// The slice of a nest: the address computations of its indirect groups for `count` iterations of
/// the innermost loop, beginning with number `first`, at the iteration numbers index[0 .. loops-2]
/// of the loops around it. `live` are the values that the program handed over at entry. `touch` is
/// an array, one entry per indirect group, in the order of the group table. It stores nothing.
typedef void (*pagecast_slice)(const uint64_t *live, const uint64_t *index, uint64_t first,
                               uint64_t count, pagecast_touch *touch);

/// The slice of an indirect group in a table, for the commonest kind: its addresses are
/// target + scale * value + offset for one index load each. The value is at
/// index group's base + index_offset + strides * iterations.
typedef struct pagecast_form {
  uint32_t group;       ///< the indirect group, whose base is the target
  uint32_t index_group; ///< the group that holds the index load
  uint32_t width;       ///< bytes of the index: 1, 2, 4 or 8
  uint32_t is_signed;
  int64_t index_offset;
  int64_t scale;
  int64_t offset;
} pagecast_form;

/// One argument: constant + scale * (dynamic word `from`); scale 0 for a constant.
typedef struct pagecast_word {
  uint64_t constant;
  int32_t scale;
  uint32_t from;
} pagecast_word;

/// The static description of one nest: a chain of loops, the outermost first.
typedef struct pagecast_nest {
  uint32_t abi;     ///< PAGECAST_ABI_VERSION
  uint32_t loops;   ///< length of the chain, 1 .. PAGECAST_MAX_LOOPS
  uint32_t ticked;  ///< the loop whose steps are ticked
  uint32_t strips;  ///< 1: the ticked loop runs in strips (__pagecast_next); 0: one tick an iteration
  uint32_t groups;  ///< 1 .. PAGECAST_MAX_GROUPS
  uint32_t live;    ///< values that the slice needs, at most PAGECAST_MAX_LIVE
  uint32_t dynamic; ///< words that the program passes
  uint32_t forms;   ///< 0, or one per indirect group, in their order; `slice` is NULL then
  const pagecast_group *group;
  const pagecast_word *word; ///< one per argument
  pagecast_slice slice;
  const pagecast_form *form;
  const char *file; ///< source file, function and line of the outermost loop; may be NULL
  const char *function;
  uint32_t line;
  uint32_t reserved;
  uint64_t *cache; ///< one zero-initialised word that belongs to the runtime
} pagecast_nest;

// The arguments of a nest, which the runtime computes from pagecast_nest.word and the dynamic words:
//     trips[loops]                                  iterations of each loop per entry to it
//     for each group: base, stride[loops]           base = address at iteration 0 of all loops, offset 0
//                                                   (indirect: base = the target's base pointer, strides 0)
//     live[nest.live]

/// One execution of a nest. The runtime owns it.
typedef struct pagecast_ticket {
  uint64_t step;  ///< steps finished
  uint64_t wake;  ///< the runtime looks at the nest at this step
  uint64_t strip; ///< iterations of the ticked loop per step
} pagecast_ticket;

typedef struct pagecast_opened {
  pagecast_ticket *ticket; ///< NULL when the runtime wants no hints of the nest
  uint64_t count;          ///< iterations of the ticked loop until __pagecast_next: all of them without a ticket
} pagecast_opened;

// On x86-64 these preserve all general registers but %r11 and those of their result,
// LLVM's preserve_most convention, so that a nest spills next to nothing around its calls; and the nest
// is passed in %r10, so that six words fit in the argument registers. C programs cannot call them there.

/// Opens a nest. Nests of stack frames that have gone (longjmp, exceptions) are closed by the address
/// of the caller's frame. The words are the dynamic ones, or the first is the address of an array of
/// them if there are more than PAGECAST_REGISTER_WORDS.
pagecast_opened __pagecast_enter(const pagecast_nest *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
/// A strip has been finished, with `left` iterations of the ticked loop to go. Returns how many to do
/// next: 0 if none are left, else 1 .. left. A nest of one loop is closed by that. Never blocks.
uint64_t __pagecast_next(pagecast_ticket *, uint64_t left);
/// An iteration of the ticked loop has been finished (strips == 0). Never blocks.
void __pagecast_tick(pagecast_ticket *);
/// Closes a nest.
void __pagecast_exit(pagecast_ticket *);

/// A large global of the module: its interior pages may become a region.
typedef struct pagecast_global {
  void *address;
  uint64_t size;
  const char *name;
} pagecast_global;

/// What a module tells the runtime in a constructor.
typedef struct pagecast_module {
  uint32_t abi;
  uint32_t globals;
  const pagecast_global *global;
  uint64_t *gate; ///< footprint in bytes from which a nest is entered; starts at ~0, the runtime writes it
} pagecast_module;

/// Weak in programs: absent runtime, no hints.
void __pagecast_register(const pagecast_module *);

#ifdef __cplusplus
}
#endif
#endif
