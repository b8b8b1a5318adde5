// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/density.h"

namespace pagecast::core {

Touched touched_by(const uint64_t *const *sets, uint32_t count, uint64_t words) {
  Touched out;
  for (uint64_t w = 0; w < words && count; ++w) {
    uint64_t all = ~uint64_t{0}, any = 0;
    for (uint32_t m = 0; m < count; ++m) {
      all &= sets[m][w];
      any |= sets[m][w];
    }
    out.by_all += uint64_t(__builtin_popcountll(all));
    out.by_any += uint64_t(__builtin_popcountll(any));
  }
  return out;
}

void pair_densities(const uint64_t *const *sets, uint32_t count, uint64_t words, double *matrix) {
  for (uint32_t a = 0; a < count; ++a) {
    matrix[a * count + a] = 1;
    for (uint32_t b = 0; b < a; ++b) {
      const uint64_t *const pair[] = {sets[a], sets[b]};
      matrix[a * count + b] = matrix[b * count + a] = touched_by(pair, 2, words).density();
    }
  }
}

uint64_t next_block(const uint64_t *set, uint64_t words, uint64_t from) {
  for (uint64_t w = from / 64; w < words; ++w) {
    const uint64_t rest = w == from / 64 ? set[w] & ~uint64_t{0} << from % 64 : set[w];
    if (rest) return w * 64 + uint64_t(__builtin_ctzll(rest));
  }
  return words * 64;
}

} // namespace pagecast::core
