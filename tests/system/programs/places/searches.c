// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash table with open addressing, and one with lists, each several times as large as memory: keys come from an array, and
// what is looked for is found at once or soon.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { Slots = 1 << 22, Rows = 1 << 21, Lookups = 12000 };

struct slot {
  uint64_t key, value;
};

static uint64_t mixed(uint64_t k) {
  k = (k ^ k >> 31) * 0x9E3779B97F4A7C15u;
  return k ^ k >> 29;
}

__attribute__((noinline)) static void insert(struct slot *table, const uint64_t *key, long n) {
  for (long i = 0; i < n; i++) {
    uint64_t p = mixed(key[i]) & (Slots - 1);
    while (table[p].key && table[p].key != key[i]) p = (p + 1) & (Slots - 1);
    table[p].key = key[i];
    table[p].value += i;
  }
}

__attribute__((noinline)) static uint64_t find(const struct slot *table, const uint64_t *key, long n) {
  uint64_t sum = 0;
  for (long i = 0; i < n; i++)
    for (uint64_t p = mixed(key[i]) & (Slots - 1); table[p].key; p = (p + 1) & (Slots - 1))
      if (table[p].key == key[i]) {
        sum = sum * 3 + table[p].value;
        break;
      }
  return sum;
}

__attribute__((noinline)) static uint64_t join(const int *head, const int *next, const struct slot *row, const uint64_t *key,
                                               long n) {
  uint64_t sum = 0;
  for (long i = 0; i < n; i++)
    for (int j = head[key[i]]; j >= 0; j = next[j])
      if (row[j].key == key[i]) sum = sum * 5 + row[j].value;
  return sum;
}

int main(void) {
  struct slot *table = malloc(Slots * sizeof *table), *row = malloc(Rows * sizeof *row);
  int *head = malloc(Rows * sizeof *head), *next = malloc(Rows * sizeof *next);
  uint64_t *key = malloc(Lookups * sizeof *key), state = 1;
  for (long i = 0; i < Slots; i++) table[i] = (struct slot){0, i};
  for (long i = 0; i < Lookups; i++) key[i] = mixed(state++);
  insert(table, key, Lookups);
  printf("%lu\n", find(table, key, Lookups));
  for (long i = 0; i < Rows; i++) head[i] = i ^ 0x155555;
  for (long i = 0; i < Rows; i++) {
    next[i] = -1;
    row[i] = (struct slot){i ^ 0x155555, i};
  }
  for (long i = 0; i < Lookups; i++) key[i] = mixed(state++) & (Rows - 1);
  printf("%lu\n", join(head, next, row, key, Lookups));
  return 0;
}
