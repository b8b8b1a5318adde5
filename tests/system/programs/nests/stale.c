// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An array that fits in memory is used and then never again; others take turns afterwards: `made` is made of the much
// larger `given` and read at once, time after time.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { OLD = 14 << 17, GIVEN = 24 << 17, MADE = 10 << 17, TIMES = 6 };
static uint64_t old[OLD], given[GIVEN], made[MADE];

__attribute__((noinline)) static uint64_t sum(const uint64_t *x, size_t n) {
  uint64_t s = 0;
  for (size_t i = 0; i < n; i++) s += x[i] ^ i;
  return s;
}

__attribute__((noinline)) static void make(uint64_t *restrict to, const uint64_t *restrict from, size_t n, uint64_t key) {
  for (size_t i = 0; i < n; i++) to[i] = from[2 * i] * key + from[2 * i + 1];
}

int main(void) {
  for (size_t i = 0; i < GIVEN; i++) given[i] = i * i;
  for (size_t i = 0; i < OLD; i++) old[i] = i * 3;
  printf("old %llx\n", (unsigned long long)sum(old, OLD));
  for (uint64_t key = 1; key <= TIMES; key++) {
    make(made, given, MADE, key);
    printf("made %llx\n", (unsigned long long)sum(made, MADE));
  }
  return 0;
}
