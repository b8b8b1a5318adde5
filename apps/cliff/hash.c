// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HASH: a table with open addressing: counts of keys that come in no order. Every count is a load and a store somewhere in the table.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

static const char help[] = "usage: hash --memory-size TOTAL [--times]\n"
                           "Counts keys in a hash table, then looks some up; prints a sum.\n"
                           "  --memory-size TOTAL  bytes of the table (units K, M, G are binary)\n";

struct entry {
  uint64_t key, count;
};

static struct entry *find(struct entry *table, size_t places, uint64_t key) {
  size_t at = (size_t)((unsigned __int128)(key * 0x9e3779b97f4a7c15u) * places >> 64);
  while (table[at].key && table[at].key != key) at = at + 1 < places ? at + 1 : 0;
  return &table[at];
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, state = 88172645463325252u, sum = 0;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "hash", help, options);
  const size_t places = bytes / sizeof(struct entry), keys = places / 8 * 5;
  struct entry *table = (struct entry *)allocate(places, sizeof *table);
  memset(table, 0, places * sizeof *table);
  phase("table");
  for (size_t i = 0; i < keys; i++) { // most of the keys come once or twice
    const uint64_t key = 1 + next_random(&state) % keys;
    struct entry *e = find(table, places, key);
    e->key = key;
    e->count++;
  }
  phase("count");
  for (size_t i = 0; i < keys / 2; i++) sum = sum * 31 + find(table, places, 1 + next_random(&state) % keys)->count;
  phase("find");
  printf("sum: %016llx\n", (unsigned long long)sum);
  return 0;
}
