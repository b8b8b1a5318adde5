// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BUK: the bucket sort of the NAS benchmarks. It stands for data-dependent accesses: two arrays are
// read and written in order (key, rank), a small table is hit at random and stays in memory (keyden),
// and one large array is written at places that only the data know (key2[rank[i]] = key[i]). Skewed
// keys make runs of neighbouring places hot, as real data do.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { KEY_BITS = 20, MAX_KEY = 1 << KEY_BITS, CHUNK = 1 << 16 };

struct options {
  size_t n;
  const char *keys; // NULL = random
  uint64_t seed;
  int times;
};

static void usage(FILE *out) {
  fputs("usage: buk --memory-size TOTAL | --n N [--keys FILE|random] [--seed S] [--times]\n"
        "Bucket sort of N 20-bit integers; prints N, the check and a checksum of the result.\n"
        "  --memory-size TOTAL  choose N so that all arrays take TOTAL bytes (units K, M, G are binary)\n"
        "  --n N                that many keys\n"
        "  --keys FILE          key i is 20 bits at byte i of FILE, starting over at its end\n"
        "  --keys random        uniform keys (the default)\n"
        "  --seed S             of the random keys\n"
        "  --times              seconds of each phase, on stderr\n",
        out);
}

static void fail(const char *what, const char *detail) {
  fprintf(stderr, "buk: %s: %s\n", what, detail);
  exit(2);
}

static uint64_t parse_number(const char *text) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  int shift = 0;
  if (*end == 'K' || *end == 'k')
    shift = 10;
  if (*end == 'M' || *end == 'm')
    shift = 20;
  if (*end == 'G' || *end == 'g')
    shift = 30;
  if (errno || end == text || text[0] == '-' || (shift ? end[1] : end[0]) || value > UINT64_MAX >> shift)
    fail("not a number of bytes or of keys", text);
  return (uint64_t)value << shift;
}

static void *allocate(size_t count) {
  void *memory = malloc(count * sizeof(int));
  if (!memory)
    fail("no memory", strerror(errno));
  return memory;
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

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

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void phase(const struct options *options, const char *name, double *since) {
  double time = now();
  if (options->times)
    fprintf(stderr, "buk: %-8s %8.3f s\n", name, time - *since);
  *since = time;
}

static int run(const struct options *options) {
  size_t n = options->n;
  int *key = allocate(n), *key2 = allocate(n), *rank = allocate(n), *keyden = allocate(MAX_KEY);
  double since = now();
  if (options->keys)
    file_keys(key, n, options->keys);
  else
    random_keys(key, n, options->seed);
  phase(options, "keys", &since);
  bucksort(key, rank, keyden, n, MAX_KEY);
  phase(options, "rank", &since);
  copy_sorted(key2, key, rank, n);
  phase(options, "copy", &since);
  size_t wrong = out_of_place(key2, n);
  uint64_t hash = checksum(key2, rank, n);
  phase(options, "check", &since);
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

static void parse(int argc, char **argv, struct options *options) {
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(name, "--help")) {
      usage(stdout);
      exit(0);
    }
    if (!strcmp(name, "--times")) {
      options->times = 1;
      continue;
    }
    if (!value)
      fail("unknown option, or one without its value", name);
    if (!strcmp(name, "--memory-size"))
      options->n = keys_in(parse_number(value));
    else if (!strcmp(name, "--n"))
      options->n = (size_t)parse_number(value);
    else if (!strcmp(name, "--keys"))
      options->keys = strcmp(value, "random") ? value : NULL;
    else if (!strcmp(name, "--seed"))
      options->seed = parse_number(value);
    else
      fail("unknown option", name);
    i++;
  }
}

int main(int argc, char **argv) {
  struct options options = {0, NULL, 1, 0};
  parse(argc, argv, &options);
  if (options.n == 0) {
    usage(stderr);
    return 2;
  }
  if (options.n > INT32_MAX) // positions are ints, as in the original
    fail("too many keys", "at most 2147483647");
  return run(&options);
}
