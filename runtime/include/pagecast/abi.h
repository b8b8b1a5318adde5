// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between code that the pass emits (compiler/) and the run-time layer (runtime/).
// Plain C, fixed-width, versioned: a program and a runtime of different versions refuse each other
// and the program runs without hints. The words are those of docs/ARCHITECTURE.md.
//
// One nest, as emitted:
//
//     footprint = trips[0] * ... * trips[loops-1] * bytes        one multiplication per loop
//     ticket    = &dummy                                          a local { 0, ~0, ~0 }
//     if (footprint >= __pagecast_gate)                           predicted not taken when nothing is paged
//         if ((t = __pagecast_enter(&nest, args, frame)))  ticket = t
//     loops ... {
//         strip of at most ticket->strip iterations of the ticked loop, with no call in it
//         if (++ticket->step >= ticket->wake)  __pagecast_tick(ticket)
//     }
//     if (ticket != &dummy)  __pagecast_exit(ticket)              on every edge that leaves the nest
#ifndef PAGECAST_ABI_H
#define PAGECAST_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAGECAST_ABI_VERSION 1u
#define PAGECAST_MAX_LOOPS 8u
#define PAGECAST_MAX_GROUPS 32u

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

/// The static description of one nest: a chain of loops, the outermost first.
typedef struct pagecast_nest {
  uint32_t abi;    ///< PAGECAST_ABI_VERSION
  uint32_t loops;  ///< length of the chain, 1 .. PAGECAST_MAX_LOOPS
  uint32_t ticked; ///< the loop whose steps are ticked
  uint32_t strips; ///< 1: the ticked loop is strip-mined and obeys ticket->strip; 0: one tick an iteration
  uint32_t groups; ///< 1 .. PAGECAST_MAX_GROUPS
  uint32_t live;   ///< values that the slice needs
  const pagecast_group *group;
  pagecast_slice slice; ///< NULL when no group is indirect
  const char *file;     ///< source file, function and line of the outermost loop; may be NULL
  const char *function;
  uint32_t line;
  uint32_t reserved;
  uint64_t *cache; ///< one zero-initialised word that belongs to the runtime
} pagecast_nest;

// The arguments of a nest are one array of uint64_t:
//     trips[loops]                                  iterations of each loop per entry to it
//     for each group: base, stride[loops]           base = address at iteration 0 of all loops, offset 0
//                                                   (indirect: base = the target's base pointer, strides 0)
//     live[nest.live]

/// One execution of a nest. The program's thread writes `step`; the runtime writes the rest.
typedef struct pagecast_ticket {
  uint64_t step;  ///< steps finished
  uint64_t wake;  ///< call __pagecast_tick at this step
  uint64_t strip; ///< iterations of the ticked loop per step, a multiple of 64
} pagecast_ticket;

/// Opens a nest. `frame` is an address in the caller's stack frame: nests of frames that have gone
/// (longjmp, exceptions) are closed by it. Returns NULL when the runtime wants no hints of it.
pagecast_ticket *__pagecast_enter(const pagecast_nest *, const uint64_t *args, const void *frame);
/// Reached ticket->wake. Never blocks.
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
