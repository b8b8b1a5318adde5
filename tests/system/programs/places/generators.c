// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places that one iteration tells the next: random updates of a table, words of a text that are counted by a rolling hash, and a
// generator that mostly stays where all is in memory.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef UPDATES
#define UPDATES 40000
#endif
enum { Cells = 1 << 23, Updates = UPDATES, Text = UPDATES, Word = 16 };

static uint64_t state = 1;
static uint64_t number(void) { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 20; }

__attribute__((noinline)) static void update(uint64_t *table, uint64_t x) {
  for (long i = 0; i < Updates; i++) {
    x = x << 1 ^ ((int64_t)x < 0 ? 7 : 0);
    table[x & (Cells - 1)] ^= x;
  }
}

__attribute__((noinline)) static void count(unsigned char *seen, const char *text) {
  uint64_t word = 0;
  for (long i = 0; i < Text; i++) {
    word = (word << 2 | (text[i] >> 1 & 3)) & ((1ull << 2 * Word) - 1);
    uint64_t h = (word ^ word >> 15) * 0x9E3779B97F4A7C15u;
    if (i + 1 >= Word) seen[h >> 38]++;
  }
}

__attribute__((noinline)) static void mostly_near(uint64_t *table) {
  for (long i = 0; i < 100 * Updates; i++) {
    uint64_t r = number();
    table[r % 500 ? r % 4096 : r % Cells] += (uint64_t)i;
  }
}

int main(void) {
  uint64_t *table = malloc(Cells * sizeof *table), sum = 0;
  for (long i = 0; i < Cells; i++) table[i] = i;
  update(table, 1);
  printf("%lu\n", table[12345]);
  unsigned char *seen = malloc(1 << 26);
  char *text = malloc(Text);
  for (long i = 0; i < 1 << 26; i++) seen[i] = i % 251;
  for (long i = 0; i < Text; i++) text[i] = "ACGT"[number() & 3];
  count(seen, text);
  mostly_near(table);
  for (long i = 0; i < Cells; i++) sum = sum * 3 + table[i];
  for (long i = 0; i < 1 << 26; i++) sum = sum * 5 + seen[i];
  printf("%lu\n", sum);
  free(table);
  free(seen);
  free(text);
  return 0;
}
