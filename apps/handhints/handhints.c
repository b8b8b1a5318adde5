// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints by hand, for accesses that no compiler can see: look-ups in a large hash table, whose places
// come out of a function of the key and of what the table holds. The program knows what it will look
// up next, so it says so, a batch ahead.
//
// Build:  pagecast cc -O2 $(pkg-config --cflags pagecast) handhints.c -o handhints
// Run:    pagecast run --memory 256M -- ./handhints --slots 134217728
#include <errno.h>
#include <pagecast/pagecast.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 256 }; // look-ups between a hint and its use: enough to cover one disk access with others

struct slot {
  uint64_t key; // 0 = empty
  uint64_t value;
};

static uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdu;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 33;
}

/// The nth key that the program will ask for.
static uint64_t nth_key(uint64_t n) {
  return mix(n) | 1;
}

static struct slot *find(struct slot *table, uint64_t mask, uint64_t key) {
  uint64_t place = mix(key) & mask;
  while (table[place].key != 0 && table[place].key != key)
    place = (place + 1) & mask;
  return &table[place];
}

/// Says that the slot of `key` will be written soon. Non-binding: a wrong or dropped hint costs time only.
static void hint(struct slot *table, uint64_t mask, uint64_t key) {
  pagecast_prefetch_write(&table[mix(key) & mask], sizeof(struct slot));
}

/// Counts every key of the sequence; the table grows full as it goes.
static void count_keys(struct slot *table, uint64_t mask, uint64_t keys) {
  for (uint64_t n = 0; n < keys; n++) {
    hint(table, mask, nth_key(n + AHEAD));
    struct slot *slot = find(table, mask, nth_key(n));
    slot->key = nth_key(n);
    slot->value += n + 1;
  }
}

/// Reads the table once, from its start to its end, and gives back what is behind.
static uint64_t sum_and_release(struct slot *table, uint64_t slots) {
  const uint64_t block = 65536; // slots: 1 MiB
  uint64_t sum = 0;
  for (uint64_t first = 0; first < slots; first += block) {
    uint64_t count = slots - first < block ? slots - first : block;
    if (slots - first > block)
      pagecast_prefetch(&table[first + block], block * sizeof(struct slot));
    for (uint64_t i = first; i < first + count; i++)
      sum = sum * 31 + table[i].value;
    pagecast_release(&table[first], count * sizeof(struct slot), 0); // 0: never needed again
  }
  return sum;
}

static uint64_t power_of_two(const char *text) {
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  if (*end || value < 1024 || (value & (value - 1))) {
    fprintf(stderr, "handhints: --slots '%s' is not a power of two of at least 1024\n", text);
    exit(2);
  }
  return value;
}

int main(int argc, char **argv) {
  uint64_t slots = 1 << 20;
  if (argc == 3 && !strcmp(argv[1], "--slots")) {
    slots = power_of_two(argv[2]);
  } else if (argc != 1) {
    puts("usage: handhints [--slots N]\nA hash table of N slots of 16 bytes (a power of two), filled to a "
         "quarter.");
    return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
  }
  struct slot *table = calloc(slots, sizeof *table);
  if (!table) {
    fprintf(stderr, "handhints: no memory: %s\n", strerror(errno));
    return 1;
  }
  fprintf(stderr, "handhints: runtime %s, %s\n", pagecast_version(),
          pagecast_active() ? "paging" : "all in memory");
  count_keys(table, slots - 1, slots / 4);
  printf("slots: %llu\nchecksum: %016llx\n", (unsigned long long)slots,
         (unsigned long long)sum_and_release(table, slots));
  free(table);
  return 0;
}
