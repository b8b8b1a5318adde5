// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MATVEC: a matrix times a vector, several times over. It stands for dense numerical sweeps: the
// matrix is far larger than memory and is read once a sweep, in order; the vector is large too, but is
// used again for every row, so it should stay while the matrix streams past; the result is tiny.
// Replacing the page that was used longest ago, as operating systems do, throws out the wrong one.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
  uint64_t bytes; // of the matrix
  size_t cols;
  size_t iterations;
  int times;
};

static void usage(FILE *out) {
  fputs("usage: matvec --memory-size TOTAL [--cols 1000000] [--iterations 3] [--times]\n"
        "c += A * b for a matrix of ints, over and over; prints its shape and a checksum of c.\n"
        "  --memory-size TOTAL  bytes of the matrix (units K, M, G are binary)\n"
        "  --cols N             of the matrix, and length of the vector b\n"
        "  --iterations N       sweeps over the matrix\n"
        "  --times              seconds of each phase, on stderr\n",
        out);
}

static void fail(const char *what, const char *detail) {
  fprintf(stderr, "matvec: %s: %s\n", what, detail);
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
    fail("not a number", text);
  return (uint64_t)value << shift;
}

static unsigned *allocate(size_t count) {
  unsigned *memory = malloc(count * sizeof(unsigned));
  if (!memory)
    fail("no memory", strerror(errno));
  return memory;
}

/// Unsigned, so that a product that wraps around is defined.
static void fill(unsigned *a, size_t rows, size_t cols, unsigned seed) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      a[i * cols + j] = (unsigned)(i * 31 + j * 17 + seed) & 1023;
}

static void multiply(unsigned *restrict c, const unsigned *restrict a, const unsigned *restrict b,
                     size_t rows, size_t cols, size_t iterations) {
  for (size_t iter = 0; iter < iterations; iter++)
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < cols; j++)
        c[i] = c[i] + a[i * cols + j] * b[j];
}

static uint64_t checksum(const unsigned *c, size_t rows) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < rows; i++)
    hash = (hash ^ c[i]) * 1099511628211u;
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
    fprintf(stderr, "matvec: %-8s %8.3f s\n", name, time - *since);
  *since = time;
}

static void run(const struct options *options) {
  size_t cols = options->cols, rows = (size_t)(options->bytes / sizeof(unsigned) / cols);
  if (rows == 0)
    fail("--memory-size is too small", "there must be room for a row");
  unsigned *a = allocate(rows * cols), *b = allocate(cols), *c = allocate(rows);
  double since = now();
  fill(a, rows, cols, 1);
  fill(b, 1, cols, 7);
  for (size_t i = 0; i < rows; i++)
    c[i] = 0;
  phase(options, "fill", &since);
  multiply(c, a, b, rows, cols, options->iterations);
  phase(options, "multiply", &since);
  printf("matrix: %zu x %zu, %zu sweeps\nchecksum: %016llx\n", rows, cols, options->iterations,
         (unsigned long long)checksum(c, rows));
  free(a), free(b), free(c);
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
      options->bytes = parse_number(value);
    else if (!strcmp(name, "--cols"))
      options->cols = (size_t)parse_number(value);
    else if (!strcmp(name, "--iterations"))
      options->iterations = (size_t)parse_number(value);
    else
      fail("unknown option", name);
    i++;
  }
}

int main(int argc, char **argv) {
  struct options options = {0, 1000000, 3, 0};
  parse(argc, argv, &options);
  if (options.bytes == 0 || options.cols == 0) {
    usage(stderr);
    return 2;
  }
  run(&options);
  return 0;
}
