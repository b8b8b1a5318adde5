// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sets that are joined with others a little further back: what the loop has passed of `parent` is in use all the same.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSets = 6 << 20, kBack = 3 << 19 };

static int32_t find(int32_t *parent, int32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

int main(void) {
  int32_t *parent = malloc(kSets * sizeof *parent), *size = malloc(kSets * sizeof *size);
  if (!parent || !size) return 1;
  for (int32_t i = 0; i < kSets; i++) parent[i] = i, size[i] = 1;
  uint64_t random = 88172645463325252u;
  for (int32_t i = kBack; i < kSets; i++) {
    size[i] += parent[i] & 1;
    if (i % 64) continue;
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    const int32_t a = find(parent, i), b = find(parent, i - (int32_t)(random % kBack));
    if (a < b) parent[b] = a;
    else parent[a] = b;
  }
  uint64_t hash = 0;
  for (int32_t i = 0; i < kSets; i++) hash = hash * 31 + (uint64_t)parent[i] + (uint64_t)size[i];
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
