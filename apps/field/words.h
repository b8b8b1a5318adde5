// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What sum and update do with words: the same in the plain programs and in those of byhand/.
#ifndef APPS_FIELD_WORDS_H
#define APPS_FIELD_WORDS_H

#include "data.h"

static inline uint64_t sum(const uint64_t *a, size_t n) {
  uint64_t total = 0;
  for (size_t i = 0; i < n; i++)
    total += a[i];
  return total;
}

static inline uint64_t update(uint64_t *a, size_t n) {
  uint64_t before = 0;
  for (size_t i = 0; i < n; i++) {
    before ^= a[i];
    a[i] = a[i] * 3 + 1;
  }
  return before;
}

/// How many of the words that begin with the one numbered `first` are not as update leaves them.
static inline size_t differing(const uint64_t *a, uint64_t first, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    count += a[i] != mixed(first + i) * 3 + 1;
  return count;
}

#endif
