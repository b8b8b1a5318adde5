// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short nests that are entered often: each adds up 8,000 elements of a table, whose places it has from a list. They are in one part
// of the table, which stays in memory; with "far", all over it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 10 << 20, HOT = 1 << 17, PICKS = 8000, OFTEN = 10000, SELDOM = 8 };

__attribute__((noinline)) static uint64_t pick(const int *table, const uint32_t *place, long n) {
  uint64_t sum = 0;
  for (long i = 0; i < n; i++) sum += table[place[i]];
  return sum;
}

int main(int argc, char **argv) {
  const int far = argc > 1 && !strcmp(argv[1], "far");
  int *table = malloc(N * sizeof *table);
  uint32_t *place = malloc(PICKS * sizeof *place), random = 1;
  if (!table || !place) return 1;
  for (long i = 0; i < N; i++) table[i] = (int)(i ^ i >> 7);
  uint64_t sum = 0;
  for (int entry = 0; entry < (far ? SELDOM : OFTEN); entry++) {
    for (int i = 0; i < PICKS; i++) {
      random = random * 1664525u + 1013904223u;
      place[i] = (random >> 8) % (far ? N : HOT);
    }
    sum = sum * 31 + pick(table, place, PICKS);
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
