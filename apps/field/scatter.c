// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SCATTER: one pass of a radix sort: counts how many keys belong in each of 1,024 buckets, then puts every key
// behind the last one of its bucket. The keys are read in order, twice; 1,024 places are written at a time.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "data.h"

enum { BUCKET_BITS = 10, BUCKETS = 1 << BUCKET_BITS };

static const char help[] =
    "usage: scatter --memory-size TOTAL [--file F --output G] [--times]\n"
    "Sorts 32-bit keys into 1,024 buckets; prints how many there are and a checksum of their order.\n"
    "  --memory-size TOTAL  bytes of keys and buckets together (units K, M, G are binary)\n"
    "  --file F             the keys are this file, mapped; else memory, filled first\n"
    "  --output G           with --file: the buckets are this file, mapped, and the pass ends when it is on the disk\n"
    "  --times              seconds of each phase, on stderr; the pass is what is measured\n";

static void count(size_t *end, const uint32_t *key, size_t n) {
  for (size_t i = 0; i < n; i++)
    end[key[i] >> (32 - BUCKET_BITS)]++;
}

/// Where each bucket begins.
static void place(size_t *end) {
  size_t sum = 0;
  for (size_t b = 0; b < BUCKETS; b++) {
    size_t keys = end[b];
    end[b] = sum;
    sum += keys;
  }
}

static void scatter(uint32_t *out, size_t *next, const uint32_t *key, size_t n) {
  for (size_t i = 0; i < n; i++)
    out[next[key[i] >> (32 - BUCKET_BITS)]++] = key[i];
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, hash = 0;
  const char *file = NULL, *output = NULL;
  const struct app_option options[] = {
      {"--memory-size", &bytes, NULL}, {"--file", NULL, &file}, {"--output", NULL, &output}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "scatter", help, options);
  if (!file != !output)
    fail("--file and --output", "one of them is missing");
  size_t n = bytes / 2 / sizeof(uint32_t), size = n * sizeof(uint32_t), next[BUCKETS] = {0};
  uint32_t *key = file ? (uint32_t *)map_file(file, size, 0) : (uint32_t *)allocate(n, sizeof *key);
  uint32_t *out = output ? (uint32_t *)map_file(output, size, 1) : (uint32_t *)allocate(n, sizeof *out);
  if (!file)
    fill_keys(key, 0, n);
  phase("data");
  count(next, key, n);
  place(next);
  scatter(out, next, key, n);
  if (output)
    store_file(out, size);
  phase("pass");
  for (size_t i = 0; i < n; i++)
    hash = hash * 31 + out[i];
  phase("check");
  printf("keys: %zu\nchecksum: %016llx\n", n, (unsigned long long)hash);
  return 0;
}
