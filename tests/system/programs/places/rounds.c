// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Goes round and round over pages in an order of its own, which nothing foretells: each page says which is next.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef ROUNDS
#define ROUNDS 8
#endif
enum { kPages = 26 << 8, kRounds = ROUNDS };

struct page {
  struct page *next;
  uint64_t value;
  char rest[4080];
};

int main(void) {
  struct page *all = malloc(kPages * sizeof *all);
  uint32_t *order = malloc(kPages * sizeof *order);
  if (!all || !order) return 1;
  for (uint32_t i = 0; i < kPages; i++) order[i] = i;
  uint64_t seed = 1;
  for (uint32_t i = kPages - 1; i; i--) {
    seed = seed * 6364136223846793005u + 1;
    const uint32_t other = (uint32_t)(seed >> 33) % (i + 1), was = order[i];
    order[i] = order[other], order[other] = was;
  }
  for (uint32_t i = 0; i < kPages; i++) all[order[i]] = (struct page){.next = &all[order[(i + 1) % kPages]], .value = i};
  uint64_t hash = 0;
  struct page *at = all;
  for (int round = 0; round < kRounds; round++)
    for (uint32_t i = 0; i < kPages; i++, at = at->next) hash = hash * 31 + at->value++;
  printf("%llx\n", (unsigned long long)hash);
  return 0;
}
