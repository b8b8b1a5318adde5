// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much the members of a parallel program share in a phase: their sharing density is the number of blocks that all of
// them touch over the number that any of them touches (PACT 2008, section 4.2). A phase in which nothing is touched has
// density 0.
//
// Example: member 0 touches blocks 0 to 9, and member 1 blocks 1 to 10. All touch nine, any touches eleven: 9 / 11, which
// is 0.82, and with a threshold of 80 % one helper prefetches for both.
//
// Sets of blocks are bitmaps that the caller provides: bit b of word w is block 64 w + b. No allocation.
#pragma once
#include <cstdint>

namespace pagecast::core {

/// Words of a set of blocks below `blocks`.
constexpr uint64_t block_set_words(uint64_t blocks) { return (blocks + 63) / 64; }

inline void insert_block(uint64_t *set, uint64_t block) { set[block / 64] |= uint64_t{1} << block % 64; }
inline bool has_block(const uint64_t *set, uint64_t block) { return set[block / 64] >> block % 64 & 1; }

struct Touched {
  uint64_t by_all = 0, by_any = 0;
  double density() const { return by_any ? double(by_all) / double(by_any) : 0; }
};

/// Of `count` members, whose sets have `words` words each.
Touched touched_by(const uint64_t *const *sets, uint32_t count, uint64_t words);

/// The density of each pair: `matrix[a * count + b]`; a member with itself has 1.
void pair_densities(const uint64_t *const *sets, uint32_t count, uint64_t words, double *matrix);

/// The first block of the set from `from` on, or `words` * 64.
uint64_t next_block(const uint64_t *set, uint64_t words, uint64_t from);

} // namespace pagecast::core
