// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binary searches in a sorted array, with what stands beside the place that they find; ways down a tree of nodes; and lists
// behind buckets, each several times as large as memory. The places that a search comes to depend on what it has read.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { Numbers = 1 << 23, Nodes = 1 << 21, Rows = 1 << 21, Lists = 1 << 18, Lookups = 6000 };

struct node {
  uint64_t key, value;
  uint32_t child[2];
  uint64_t unused;
};

struct row {
  uint64_t key, value;
  int64_t next;
};

static uint64_t mixed(uint64_t k) {
  k = (k ^ k >> 31) * 0x9E3779B97F4A7C15u;
  return k ^ k >> 29;
}

__attribute__((noinline)) static uint64_t sorted(const uint64_t *a, const uint32_t *beside, const uint64_t *key, long n) {
  uint64_t sum = 0;
  for (long i = 0; i < n; i++) {
    long from = 0, to = Numbers;
    while (from < to) {
      long middle = from + (to - from) / 2;
      if (a[middle] < key[i]) from = middle + 1;
      else to = middle;
    }
    if (from < Numbers) sum = sum * 3 + beside[from];
  }
  return sum;
}

__attribute__((noinline)) static uint64_t descend(const struct node *node, const uint64_t *key, long n) {
  uint64_t sum = 0;
  for (long i = 0; i < n; i++)
    for (uint32_t p = 1; p; p = node[p].child[key[i] > node[p].key])
      if (node[p].key == key[i]) {
        sum = sum * 5 + node[p].value;
        break;
      }
  return sum;
}

__attribute__((noinline)) static uint64_t listed(const int64_t *first, const struct row *row, const uint64_t *key, long n) {
  uint64_t sum = 0;
  for (long i = 0; i < n; i++)
    for (int64_t j = first[key[i] % Lists]; j >= 0; j = row[j].next)
      if (row[j].key == key[i]) sum = sum * 7 + row[j].value;
  return sum;
}

/// Nodes of a level stand next to each other: the children of node p are 2p and 2p + 1.
static void plant(struct node *node, uint32_t p, uint64_t from, uint64_t width) {
  node[p] = (struct node){from + width / 2, p, {0, 0}, 0};
  if (2 * p + 1 >= Nodes) return;
  node[p].child[0] = 2 * p;
  node[p].child[1] = 2 * p + 1;
  plant(node, 2 * p, from, width / 2);
  plant(node, 2 * p + 1, from + width / 2, width / 2);
}

int main(void) {
  uint64_t *key = malloc(Lookups * sizeof *key), state = 1;
  uint64_t *a = malloc(Numbers * sizeof *a);
  uint32_t *beside = malloc(Numbers * sizeof *beside);
  for (long i = 0; i < Numbers; i++) a[i] = 64 * i + mixed(i) % 64, beside[i] = mixed(~i);
  for (long i = 0; i < Lookups; i++) key[i] = mixed(state++) % (64l * Numbers);
  printf("%lu\n", sorted(a, beside, key, Lookups));
  free(a);
  free(beside);
  struct node *node = malloc(Nodes * sizeof *node);
  plant(node, 1, 0, 8l * Nodes);
  for (long i = 0; i < Lookups; i++) key[i] = mixed(state++) % (8l * Nodes);
  printf("%lu\n", descend(node, key, Lookups));
  free(node);
  struct row *row = malloc(Rows * sizeof *row);
  int64_t *first = malloc(Lists * sizeof *first);
  for (long i = 0; i < Lists; i++) first[i] = -1;
  for (long i = 0; i < Rows; i++) {
    uint64_t k = mixed(i), list = k % Lists;
    row[i] = (struct row){k, i, first[list]};
    first[list] = i;
  }
  for (long i = 0; i < Lookups; i++) key[i] = mixed(mixed(state++) % (Rows + Rows / 4));
  printf("%lu\n", listed(first, row, key, Lookups));
  return 0;
}
