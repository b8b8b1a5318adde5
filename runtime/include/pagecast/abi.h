// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between code that the pass emits (compiler/) and the run-time layer (runtime/).
// Plain C, fixed-width, versioned: a program and a runtime of different versions refuse each other
// and the program runs without hints. The words are those of docs/GLOSSARY.md.
//
// One nest, as emitted (see compiler/emit/Emit.h for nests of several loops):
//
//     iterations = trips[0] * ... * trips[loops-1]
//     count      = trips of the ticked loop, ticket = NULL
//     if (iterations >= __pagecast_gate[size])                    predicted not taken when nothing is paged
//         { count, ticket } = __pagecast_enter(&nest, words...)
//     do
//         strip of `count` iterations of the ticked loop, with no call in it
//     while (ticket && (count = __pagecast_next(0, iterations left, ticket)))
//     if (ticket)  __pagecast_exit(ticket)                        on other edges that leave the nest
#ifndef PAGECAST_ABI_H
#define PAGECAST_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAGECAST_ABI_VERSION 8u
#define PAGECAST_MAX_LOOPS 8u
#define PAGECAST_MAX_GROUPS 32u
#define PAGECAST_MAX_LIVE 96u
#define PAGECAST_MAX_OPS 512u     ///< of a slice
#define PAGECAST_MAX_SCALARS 256u ///< registers of a slice, its live values included
#define PAGECAST_MAX_VECTORS 128u
#define PAGECAST_MAX_DEPTH 4u ///< loads behind one another in a slice
#define PAGECAST_MAX_SLICE_LOOPS 6u
#define PAGECAST_MAX_CARRIED 8u ///< of a slice: values that one iteration hands to the next
#define PAGECAST_MAX_SEARCHES 3u    ///< inside one another
#define PAGECAST_SEARCH_STEPS 64u  ///< a search that takes more is given up
#define PAGECAST_GATES 17u    ///< sizes of an iteration: 1, 2, 4, ... 65536 bytes
#define PAGECAST_REGISTER_WORDS 6u ///< up to so many dynamic words are passed in registers

/// What a group's references do (pagecast_group.flags).
enum {
  PAGECAST_READS = 1u,        ///< some reference loads
  PAGECAST_WRITES = 2u,       ///< some reference stores: its pages are fetched writable
  PAGECAST_INDIRECT = 4u,     ///< addresses come from the nest's slice, not from strides
  PAGECAST_INDEX = 8u,        ///< the slice reads it: fetched further ahead than the rest
  PAGECAST_CONDITIONAL = 16u, ///< not executed in every iteration
  PAGECAST_OVERWRITES = 32u,  ///< each byte of its extents is stored to, and not read before, unless a reading group meets it
  PAGECAST_COMPARED = 64u,    ///< read beside the nest, by one that has the same root: only compared with what is overwritten
  PAGECAST_SLICED_SHIFT = 16, ///< flags >> this: 1 + the number that the group has in the slice of the nest around, or 0
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

/// What a slice's operations do. Values are 64-bit words; an operation of width w computes modulo 2^w and its
/// result is zero-extended. Nothing traps: division by zero gives 0, shifts by w or more give 0 (or the sign),
/// and a load of memory that is not there ends the work on that iteration.
enum {
  PAGECAST_OP_ADD, ///< to = a + b
  PAGECAST_OP_SUB,
  PAGECAST_OP_MUL,
  PAGECAST_OP_MADD, ///< to = a * b + c
  PAGECAST_OP_AND,
  PAGECAST_OP_OR,
  PAGECAST_OP_XOR,
  PAGECAST_OP_SHL,
  PAGECAST_OP_LSHR,
  PAGECAST_OP_ASHR,
  PAGECAST_OP_UDIV,
  PAGECAST_OP_UREM,
  PAGECAST_OP_SDIV,
  PAGECAST_OP_SREM,
  PAGECAST_OP_UMIN,
  PAGECAST_OP_UMAX,
  PAGECAST_OP_SMIN,
  PAGECAST_OP_SMAX,
  PAGECAST_OP_TRUNC, ///< to = a modulo 2^width
  PAGECAST_OP_SEXT,  ///< to = a, sign-extended from `extra` bits to `width`
  PAGECAST_OP_EQ,    ///< to = a == b ? 1 : 0, of `width` bits, as the five below
  PAGECAST_OP_NE,
  PAGECAST_OP_ULT,
  PAGECAST_OP_ULE,
  PAGECAST_OP_SLT,
  PAGECAST_OP_SLE,
  PAGECAST_OP_SELECT, ///< to = a ? b : c
  PAGECAST_OP_FADD,   ///< of IEEE numbers of `width` bits, 32 or 64, as the five below
  PAGECAST_OP_FSUB,
  PAGECAST_OP_FMUL,
  PAGECAST_OP_FDIV,
  PAGECAST_OP_FMIN,
  PAGECAST_OP_FMAX,
  PAGECAST_OP_FSQRT,  ///< to = the root of a
  PAGECAST_OP_FWHOLE, ///< to = a, made whole; `extra`: how, PAGECAST_DOWN ..
  PAGECAST_OP_FEQ,    ///< to = a == b ? 1 : 0, of numbers of `width` bits, as the two below: 0 if one of them is none
  PAGECAST_OP_FLT,
  PAGECAST_OP_FLE,
  PAGECAST_OP_FTOS,   ///< to = the number a of `extra` bits as an integer of `width` bits, or the nearest one of 64
  PAGECAST_OP_FTOU,   ///< the same, unsigned
  PAGECAST_OP_STOF,   ///< to = the integer a of `extra` bits as a number of `width` bits
  PAGECAST_OP_UTOF,   ///< the same, unsigned
  PAGECAST_OP_FTOF,   ///< to = the number a of `extra` bits as one of `width` bits
  PAGECAST_OP_LOAD,   ///< to = the `width` bits (8, 16, 32, 64) at address a; c: as TOUCH
  PAGECAST_OP_TOUCH,  ///< group `extra` touches address a; c: predicate (0 = does not), or PAGECAST_NONE
  PAGECAST_OP_RANGE,  ///< group `extra` touches a + lo .. a + hi, a + b + lo .., to = number of times; c: predicate
  PAGECAST_OP_LOOP,   ///< operations up to END number `extra`, a times; to: register of the iteration number; c: predicate
  PAGECAST_OP_END,    ///< of the innermost LOOP open
  PAGECAST_OP_SEARCH, ///< operations up to FOUND number `extra`, again and again; to: how often before, or NONE; c: predicate
  PAGECAST_OP_CARRY,  ///< to = a, for the next time round and for after the search
  PAGECAST_OP_UNTIL,  ///< the search of iterations in which a != 0 ends
  PAGECAST_OP_FOUND,  ///< of the innermost SEARCH open
  PAGECAST_OP_PREVIOUS, ///< to = c ? a : what b was an iteration before; `extra`: its number, below PAGECAST_MAX_CARRIED
  PAGECAST_OPS
};

/// How numbers are made whole: to the next one down or up, toward zero, to the nearest one (even ones, or away from zero, at a tie).
enum { PAGECAST_DOWN, PAGECAST_UP, PAGECAST_TOWARD_ZERO, PAGECAST_TO_EVEN, PAGECAST_AWAY };

/// Operands are registers: scalars by number, vectors by number with PAGECAST_VECTOR added. The first scalars
/// are the live values, then the iteration numbers of the chain's loops, outermost first, but the last.
#define PAGECAST_VECTOR 0x8000u
#define PAGECAST_NONE 0xffffu

/// A search is run for all iterations that its place has at once, in their vectors; those whose search has ended take no part
/// in what follows inside. One that does not end in PAGECAST_SEARCH_STEPS ends its iteration, as a load of what is not there.
///
/// One operation. A loop without loops inside is run for many iterations at a time: the results of its
/// operations are vectors (`to` of its LOOP, too); everything else is scalar. The innermost loop of the chain
/// is such a loop as well, around all operations; its iteration number is scalar register live + loops - 1, or vector 0.
/// A PREVIOUS has b computed by an operation of the same loop, at any place of it; an iteration that was never told what b
/// was before ends there.
/// A slice is run in stages: stage d executes the operations of depth <= d, but only its own touches.
typedef struct pagecast_op {
  uint8_t code;
  uint8_t depth; ///< 1 .. PAGECAST_MAX_DEPTH: loads before it in the chain of loads, plus 1; of a load: that of its address
  uint8_t width; ///< bits of the result; of comparisons: of the operands
  uint8_t reserved;
  uint16_t to, a, b, c;
  uint32_t extra;
} pagecast_op;

/// The slice of a nest: the address computations of its indirect groups as a program for the runtime, which runs
/// it ahead of the nest for `count` iterations of the innermost loop of the chain at a time. It stores nothing,
/// and whatever it is given it cannot harm the program: every load is checked and its work is bounded.
typedef struct pagecast_slice {
  uint32_t ops;
  uint16_t scalars; ///< registers: the live values and iteration numbers, and temporaries
  uint16_t vectors;
  uint32_t depths; ///< stages: the largest depth
  uint32_t loops; ///< 1: there are LOOPs in it, so that the chain's innermost loop is run one iteration at a time
  uint32_t carried; ///< how many PREVIOUS are in it, at most PAGECAST_MAX_CARRIED
  const pagecast_op *op;
} pagecast_slice;

/// One argument: constant + scale * (register `from` of the prologue); scale 0 for a constant.
typedef struct pagecast_word {
  uint64_t constant;
  int32_t scale;
  uint32_t from;
} pagecast_word;

/// The static description of one nest: a chain of loops, the outermost first.
typedef struct pagecast_nest {
  uint32_t abi; ///< PAGECAST_ABI_VERSION
  uint32_t loops; ///< length of the chain, 1 .. PAGECAST_MAX_LOOPS
  uint32_t ticked; ///< the loop whose steps are ticked
  uint32_t strips; ///< 1: the ticked loop runs in strips (__pagecast_next); 0: one tick an iteration
  uint32_t groups; ///< 1 .. PAGECAST_MAX_GROUPS
  uint32_t live; ///< values that the slice needs, at most PAGECAST_MAX_LIVE
  uint32_t dynamic; ///< words that the program passes
  uint32_t constants; ///< of the prologue
  const pagecast_group *group;
  const pagecast_word *word; ///< one per argument
  const pagecast_slice *slice; ///< NULL when no group is indirect
  const uint64_t *constant;
  const pagecast_op *prologue; ///< arithmetic that the program need not do
  const char *file; ///< source file, function and line of the outermost loop; may be NULL
  const char *function;
  uint32_t line;
  uint32_t prologue_ops;
  uint64_t *cache; ///< one zero-initialised word that belongs to the runtime
  uint32_t closes; ///< 1: its last strip, or its last tick, closes it: that of the last iteration of the loops around
  uint32_t root; ///< names the outermost loop if other nests, which are beside this one, have it, too; else 0
} pagecast_nest;

// The arguments of a nest, which the runtime computes on entry. The registers of the prologue are the dynamic
// words, the constants, and the result of each of its operations in turn (`to` says which that is); its
// operations are scalar and arithmetic. pagecast_nest.word takes the arguments from there:
//     trips[loops]                                  iterations of each loop per entry to it
//     for each group: base, stride[loops]           base = address at iteration 0 of all loops, offset 0
//                                                   (indirect: base = the target's base pointer, or 0; strides 0)
//     live[nest.live]

/// One execution of a nest. The runtime owns it.
typedef struct pagecast_ticket {
  uint64_t step; ///< steps finished
  uint64_t wake; ///< the runtime looks at the nest at this step
  uint64_t strip; ///< iterations of the ticked loop per step
} pagecast_ticket;

/// In registers, on x86-64 %rax, where __pagecast_next has the end of a strip, and %rdx.
typedef struct pagecast_opened {
  uint64_t count; ///< iterations of the ticked loop until __pagecast_next: all of them without a ticket
  pagecast_ticket *ticket; ///< NULL when the runtime wants no hints of the nest
} pagecast_opened;

// On x86-64 these preserve all general registers but %r11 and those of their result, and %xmm0 to %xmm15, or %ymm0
// to %ymm15 where the processor has them: LLVM's preserve_all convention, so that a nest spills next to nothing
// around its calls. The nest is passed in %r10, so that six words fit in the argument registers. C programs cannot
// call them there. The ticket is the third argument, in %rdx, where it was returned; some have nothing to pass before it.

/// Opens a nest. Nests of stack frames that have gone (longjmp, exceptions) are closed by the address
/// of the caller's frame. The words are the dynamic ones, or the first is the address of an array of
/// them if there are more than PAGECAST_REGISTER_WORDS.
pagecast_opened __pagecast_enter(const pagecast_nest *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
/// A strip has been finished, with `bound` - `at` iterations of the ticked loop to go. Returns where the next one
/// ends: `at` if none are left, else at + 1 .. bound. Some nests are closed by that (`closes`). Never blocks.
uint64_t __pagecast_next(uint64_t at, uint64_t bound, pagecast_ticket *);
/// An iteration of the ticked loop has been finished (strips == 0). The last of some nests closes them (`closes`). Never blocks.
void __pagecast_tick(uint64_t, uint64_t, pagecast_ticket *);
/// Closes a nest.
void __pagecast_exit(uint64_t, uint64_t, pagecast_ticket *);

/// memmove and memset as a nest, which is over on return. Its dynamic words are `to`, `bytes`, and `from`. These are plain
/// functions, with the nest behind what the C library's take.
void __pagecast_copy(char *to, const char *from, uint64_t bytes, const pagecast_nest *);
void __pagecast_fill(char *to, unsigned char value, uint64_t bytes, const pagecast_nest *);

/// Smaller globals are not recorded: no page can lie inside of them. Also the least PAGECAST_LARGE.
#define PAGECAST_LEAST_GLOBAL 4096

/// A global of the module, of at least that size: its interior pages become a region if they are PAGECAST_LARGE.
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
  /// PAGECAST_GATES words: gate[k] is the number of iterations from which a nest is entered that touches about
  /// 2^k bytes in each. They start at ~0; the runtime writes them. Null in a
  /// module without nests, which is told of globals only.
  uint64_t *gate;
} pagecast_module;

/// Weak in programs: absent runtime, no hints.
void __pagecast_register(const pagecast_module *);

#ifdef __cplusplus
}
#endif
#endif
