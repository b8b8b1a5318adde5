// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BUK: the bucket sort of the NAS benchmarks. It stands for data-dependent accesses: two arrays are
// read and written in order (key, rank), a small table is hit at random and stays in memory (keyden),
// and one large array is written at places that only the data know (key2[rank[i]] = key[i]). Skewed
// keys make runs of neighbouring places hot, as real data do.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

enum { KEY_BITS = 20, MAX_KEY = 1 << KEY_BITS, CHUNK = 1 << 16 };

struct options {
  size_t n;
  const char *keys; // NULL = random
  uint64_t seed;
};

static const char help[] = "usage: buk --memory-size TOTAL | --n N [--keys FILE|random] [--seed S] [--times]\n"
                           "Bucket sort of N 20-bit integers; prints N, the check and a checksum of the result.\n"
                           "  --memory-size TOTAL  choose N so that all arrays take TOTAL bytes (units K, M, G are binary)\n"
                           "  --n N                that many keys\n"
                           "  --keys FILE          key i is 20 bits at byte i of FILE, starting over at its end\n"
                           "  --keys random        uniform keys (the default)\n"
                           "  --seed S             of the random keys\n"
                           "  --times              seconds of each phase, on stderr\n";

static void random_keys(int *key, size_t n, uint64_t seed) {
  uint64_t state = seed * 2654435761u + 88172645463325252u;
  if (!state)
    state = 1;
  for (size_t i = 0; i < n; i++)
    key[i] = (int)(next_random(&state) >> 24 & (MAX_KEY - 1));
}

/// Fills `bytes` with `count` bytes of a file that starts over at its end.
static void read_wrapped(int file, unsigned char *bytes, size_t count) {
  int empty = 0;
  for (size_t have = 0; have < count;) {
    ssize_t got = read(file, bytes + have, count - have);
    if (got < 0)
      fail("cannot read the keys", strerror(errno));
    if (got == 0 && (empty || lseek(file, 0, SEEK_SET) < 0))
      fail("cannot read the keys", "the file is empty or cannot be read twice");
    empty = got == 0;
    have += (size_t)got;
  }
}

/// Key i: the low 20 bits of the three bytes at i, so that neighbouring keys share bytes.
static void unpack_keys(int *restrict key, const unsigned char *restrict bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    key[i] = (bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16) & (MAX_KEY - 1);
}

static void file_keys(int *key, size_t n, const char *name) {
  static unsigned char bytes[CHUNK + 2];
  int file = open(name, O_RDONLY);
  if (file < 0)
    fail(name, strerror(errno));
  read_wrapped(file, bytes, 2);
  for (size_t done = 0; done < n;) {
    size_t count = n - done < CHUNK ? n - done : CHUNK;
    read_wrapped(file, bytes + 2, count);
    unpack_keys(key + done, bytes, count);
    memmove(bytes, bytes + count, 2); // the next key starts in what is left
    done += count;
  }
  close(file);
}

/// Where each key goes when sorted. A sorted run of equal keys is in reverse order of input.
static void bucksort(const int *key, int *rank, int *keyden, size_t n, size_t max_key) {
  for (size_t i = 0; i < max_key; i++)
    keyden[i] = 0;
  for (size_t i = 0; i < n; i++)
    keyden[key[i]] = keyden[key[i]] + 1;
  for (size_t i = 1; i < max_key; i++)
    keyden[i] = keyden[i] + keyden[i - 1];
  for (size_t i = 0; i < n; i++) {
    keyden[key[i]] = keyden[key[i]] - 1;
    rank[i] = keyden[key[i]];
  }
}

static void copy_sorted(int *key2, const int *key, const int *rank, size_t n) {
  for (size_t i = 0; i < n; i++)
    key2[rank[i]] = key[i];
}

static size_t out_of_place(const int *key2, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if (key2[i + 1] < key2[i])
      count = count + 1;
  return count;
}

/// Depends on every element and on the order.
static uint64_t checksum(const int *key2, const int *rank, size_t n) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ (uint64_t)(unsigned)key2[i] ^ (uint64_t)(unsigned)rank[i] << 32) * 1099511628211u;
  return hash;
}

static int run(const struct options *options) {
  size_t n = options->n;
  int *key = allocate(n, sizeof *key), *key2 = allocate(n, sizeof *key2), *rank = allocate(n, sizeof *rank);
  int *keyden = allocate(MAX_KEY, sizeof *keyden);
  if (options->keys)
    file_keys(key, n, options->keys);
  else
    random_keys(key, n, options->seed);
  phase("keys");
  bucksort(key, rank, keyden, n, MAX_KEY);
  phase("rank");
  copy_sorted(key2, key, rank, n);
  phase("copy");
  size_t wrong = out_of_place(key2, n);
  uint64_t hash = checksum(key2, rank, n);
  phase("check");
  printf("keys: %zu\n%s: %zu out of place\nchecksum: %016llx\n", n, wrong ? "FAILED" : "PASSED", wrong,
         (unsigned long long)hash);
  free(key), free(key2), free(rank), free(keyden);
  return wrong != 0;
}

/// Three arrays of n ints and the table.
static size_t keys_in(uint64_t bytes) {
  uint64_t table = (uint64_t)MAX_KEY * sizeof(int);
  if (bytes <= table)
    fail("--memory-size is too small", "the table of counts alone takes 4M");
  return (size_t)((bytes - table) / (3 * sizeof(int)));
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, n = 0, seed = 1;
  const char *keys = "random";
  const struct app_option known[] = {
      {"--memory-size", &bytes, NULL}, {"--n", &n, NULL}, {"--keys", NULL, &keys}, {"--seed", &seed, NULL}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "buk", help, known);
  if (bytes)
    n = keys_in(bytes);
  if (n == 0)
    fail("no keys", "give --memory-size or --n");
  if (n > INT32_MAX) // positions are ints, as in the original
    fail("too many keys", "at most 2147483647");
  const struct options options = {(size_t)n, strcmp(keys, "random") ? keys : NULL, seed};
  return run(&options);
}
