// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorts keys of twice the budget into 64 buckets, which grow side by side.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kKeys = 12 << 20, kBits = 6, kBuckets = 1 << kBits };

static void scatter(uint32_t *out, size_t *next, const uint32_t *key, size_t n) {
  for (size_t i = 0; i < n; i++) out[next[key[i] >> (32 - kBits)]++] = key[i];
}

int main(void) {
  uint32_t *key = malloc(kKeys * sizeof *key), *out = malloc(kKeys * sizeof *out);
  size_t next[kBuckets] = {0}, sum = 0;
  uint64_t hash = 0;
  for (size_t i = 0; i < kKeys; i++) key[i] = (uint32_t)((i + 1) * 0x9e3779b97f4a7c15u >> 29);
  for (size_t i = 0; i < kKeys; i++) next[key[i] >> (32 - kBits)]++;
  for (size_t b = 0; b < kBuckets; b++) {
    const size_t keys = next[b];
    next[b] = sum;
    sum += keys;
  }
  scatter(out, next, key, kKeys);
  for (size_t i = 0; i < kKeys; i++) hash = hash * 31 + out[i];
  printf("%zu %016llx\n", next[kBuckets - 1], (unsigned long long)hash);
  return 0;
}
