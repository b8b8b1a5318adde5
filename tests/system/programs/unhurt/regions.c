// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Far over a thousand large blocks at a time, each a region of its own: stored to, gone through in another order, freed,
// resized, and allocated again. A page in 32 of each is touched.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 1200, STEP = 32 * 4096 / sizeof(uint64_t), LENGTH = (1 << 20) / sizeof(uint64_t) + 13 };

static uint64_t *block[BLOCKS];
static size_t length[BLOCKS];

static void make(size_t b, size_t n) {
  block[b] = malloc(n * sizeof *block[b]);
  if (!block[b])
    exit(1);
  length[b] = n;
  for (size_t i = 0; i < n; i += STEP)
    block[b][i] = (b + 1) * 2654435761u + i;
}

/// In an order that visits each block once: 1200 and 377 have no common factor.
static uint64_t hash_of_all(void) {
  uint64_t hash = 0;
  for (size_t k = 0; k < BLOCKS; k++) {
    size_t b = k * 377 % BLOCKS;
    for (size_t i = 0; i < length[b]; i += STEP)
      hash = hash * 31 + (block[b][i] += k);
  }
  return hash;
}

int main(void) {
  for (size_t b = 0; b < BLOCKS; b++)
    make(b, LENGTH + b % 7 * 512);
  printf("%016llx\n", (unsigned long long)hash_of_all());
  for (size_t b = 0; b < BLOCKS; b += 3) {
    free(block[b]);
    make(b, LENGTH + b % 5 * 512);
  }
  for (size_t b = 1; b < BLOCKS; b += 30) {
    block[b] = realloc(block[b], 2 * length[b] * sizeof *block[b]);
    if (!block[b])
      return 1;
    for (size_t i = (length[b] + STEP - 1) / STEP * STEP; i < 2 * length[b]; i += STEP)
      block[b][i] = i;
    length[b] *= 2;
  }
  for (size_t b = 1; b < BLOCKS; b += 60) {
    length[b] = length[b] / 4 * 3;
    block[b] = realloc(block[b], length[b] * sizeof *block[b]);
    if (!block[b])
      return 1;
  }
  printf("%016llx\n", (unsigned long long)hash_of_all());
  return 0;
}
