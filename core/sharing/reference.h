// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which blocks of a data set a member will touch in an interval of a nest: D(i, k) of PACT 2008, section 4.3.1, for the
// references R of member i and its iterations I(i, k) of interval k. The union over the members of a cluster, D(k), is what
// one helper asks for, each block once. Both go into one set of blocks, so that the union costs nothing more.
//
// The paper has the compiler enumerate D(k) with the Omega library. Here the bounds are known on entry to the nest, and a
// reference is a span of bytes at even distances: what page-level hints have anyway.
//
// Example: 1,000 rows of 128 KiB, of which a member reads row i in iteration i of 100. In interval 2 of 10 it touches rows
// 20 to 29, which are blocks 40 to 59 where a block has 64 KiB.
#pragma once
#include "core/types.h"

#include <cstdint>

namespace pagecast::core {

// --- sets of blocks, and what they have in common ---------------------------------------------
//
// How much the members of a parallel program share in a phase: their sharing density is the number of blocks that all of
// them touch over the number that any of them touches (PACT 2008, section 4.2). A phase in which nothing is touched has
// density 0.
//
// Example: member 0 touches blocks 0 to 9, and member 1 blocks 1 to 10. All touch nine, any touches eleven: 9 / 11, which
// is 0.82, and with a threshold of 80 % one helper prefetches for both.
//
// Sets of blocks are bitmaps that the caller provides: bit b of word w is block 64 w + b. No allocation.

/// Words of a set of blocks below `blocks`.
constexpr uint64_t block_set_words(uint64_t blocks) { return (blocks + 63) / 64; }

inline void insert_block(uint64_t *set, uint64_t block) { set[block / 64] |= uint64_t{1} << block % 64; }
inline bool has_block(const uint64_t *set, uint64_t block) { return set[block / 64] >> block % 64 & 1; }

struct Touched {
  uint64_t by_all = 0, by_any = 0;
  double density() const { return by_any ? double(by_all) / double(by_any) : 0; }
};

/// What `count` members touch, whose sets have `words` words each.
Touched touched_by(const uint64_t *const *sets, uint32_t count, uint64_t words);

/// The density of each pair: `matrix[a * count + b]`; a member with itself has 1.
void pair_densities(const uint64_t *const *sets, uint32_t count, uint64_t words, double *matrix);

/// The first block of the set from `from` on, or `words` * 64.
uint64_t next_block(const uint64_t *set, uint64_t words, uint64_t from);

// --- what references touch --------------------------------------------------------------------

inline constexpr uint64_t kStorageBlock = 64u << 10; ///< bytes, unless an option says otherwise
inline constexpr double kInterval = 0.1;             ///< of the iterations: the paper's default for its slices

/// What one reference of a nest touches in a data set. Iteration (i0, i1, ...), the outermost loop first, touches the bytes
/// [first + sum(stride[k] * ik), that + span). Bytes outside of the data set are nobody's.
struct Reference {
  int64_t first = 0;
  uint64_t span = 0;
  uint32_t loops = 0; ///< at most kMaxLoops
  uint64_t trips[kMaxLoops] = {};
  int64_t stride[kMaxLoops] = {};
};

/// A share of iterations, [begin, end) of them.
struct Iterations {
  uint64_t begin = 0, end = 0;
};

/// How many of the loops have their iterations shared out: the outermost ones, as many as have kEnoughIterations together, or all, but
/// never more than can be counted.
/// Their iterations count through, those of the inner ones first: a nest of few large iterations, such as one for each of seven
/// slabs of a matrix, has intervals that are parts of these.
inline constexpr uint64_t kEnoughIterations = 4096;
uint32_t shared_loops(const Reference &);
/// The iterations of these loops together.
uint64_t shared_iterations(const Reference &);

/// Interval `k` of `count` of these iterations; all of them where there is one only, in each interval.
Iterations interval_of(const Reference &, uint64_t k, uint64_t count);

/// Puts the blocks that the reference touches in these of its shared iterations into the set. `block`: bytes.
/// `words`: of the set, whose end is the data set's. Cost: the pieces that lie a block or more apart, and the blocks of
/// each; no more than kMostTouchedPieces, since trip counts are the program's.
inline constexpr uint64_t kMostTouchedPieces = 1u << 20; ///< of each of the parts that such iterations are, two for each loop
void insert_touched(const Reference &, Iterations, uint64_t block, uint64_t *set, uint64_t words);

} // namespace pagecast::core
