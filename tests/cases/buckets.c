// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sort of integers by two passes, done again and again over the same arrays: keys are scattered into buckets, and each
// bucket is counted. From the second turn on, the buckets are full of the last turn's keys, and are stored over in order at
// a thousand places.
//
// Usage: buckets KEYS TURNS
#include "case.h"

#include <string.h>

enum { kKeyBits = 21, kBuckets = 1024, kShift = kKeyBits - 10 };

static uint32_t *key, *sorted, *rank_of;
static long end_of[kBuckets + 1];

__attribute__((noinline)) static void scatter(long keys) {
  long next[kBuckets] = {0}, start = 0;
  for (long i = 0; i < keys; i++) next[key[i] >> kShift]++;
  for (int b = 0; b < kBuckets; b++) {
    const long count = next[b];
    next[b] = start;
    start += count;
    end_of[b] = start;
  }
  for (long i = 0; i < keys; i++) {
    const uint32_t k = key[i];
    sorted[next[k >> kShift]++] = k;
  }
}

__attribute__((noinline)) static void count_buckets(void) {
  long start = 0;
  for (long b = 0; b < kBuckets; b++) {
    uint32_t *rank = rank_of + (b << kShift);
    memset(rank, 0, sizeof *rank << kShift);
    for (long i = start; i < end_of[b]; i++) rank[sorted[i] & ((1 << kShift) - 1)]++;
    for (long k = 1; k < 1 << kShift; k++) rank[k] += rank[k - 1];
    start = end_of[b];
  }
}

int main(int argc, char **argv) {
  const long keys = case_argument(argc, argv, 1, 1000000), turns = case_argument(argc, argv, 2, 2);
  uint64_t state = 9, sum = 0;
  key = case_memory((size_t)keys * sizeof *key);
  sorted = case_memory((size_t)keys * sizeof *sorted);
  rank_of = case_memory(sizeof *rank_of << kKeyBits);
  for (long i = 0; i < keys; i++) key[i] = (case_random(&state) % (1u << kKeyBits) + case_random(&state) % (1u << kKeyBits)) / 2;
  const double since = case_now();
  for (long t = 0; t < turns; t++) {
    key[t] = (uint32_t)t;
    key[t + turns] = (1u << kKeyBits) - 1 - (uint32_t)t;
    scatter(keys);
    count_buckets();
    for (long k = 0; k < 1L << kKeyBits; k += 977) sum = sum * 31 + rank_of[k];
  }
  case_pass(since);
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
