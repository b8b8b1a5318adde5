// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MATVEC: a matrix times a vector, several times over. It stands for dense numerical sweeps: the
// matrix is far larger than memory and is read once a sweep, in order; the vector is large too, but is
// used again for every row, so it should stay while the matrix streams past; the result is tiny.
// Replacing the page that was used longest ago, as operating systems do, throws out the wrong one.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

struct options {
  uint64_t bytes; // of the matrix
  uint64_t cols;
  uint64_t iterations;
};

static const char help[] = "usage: matvec --memory-size TOTAL [--cols 1000000] [--iterations 3] [--times]\n"
                           "c += A * b for a matrix of ints, over and over; prints its shape and a checksum of c.\n"
                           "  --memory-size TOTAL  bytes of the matrix (units K, M, G are binary)\n"
                           "  --cols N             of the matrix, and length of the vector b\n"
                           "  --iterations N       sweeps over the matrix\n"
                           "  --times              seconds of each phase, on stderr\n";

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

static void run(const struct options *options) {
  size_t cols = options->cols, rows = (size_t)(options->bytes / sizeof(unsigned) / cols);
  if (rows == 0)
    fail("--memory-size is too small", "there must be room for a row");
  unsigned *a = allocate(rows * cols, sizeof *a), *b = allocate(cols, sizeof *b), *c = allocate(rows, sizeof *c);
  fill(a, rows, cols, 1);
  fill(b, 1, cols, 7);
  for (size_t i = 0; i < rows; i++)
    c[i] = 0;
  phase("fill");
  multiply(c, a, b, rows, cols, options->iterations);
  phase("multiply");
  printf("matrix: %zu x %zu, %zu sweeps\nchecksum: %016llx\n", rows, cols, options->iterations,
         (unsigned long long)checksum(c, rows));
  free(a), free(b), free(c);
}

int main(int argc, char **argv) {
  struct options options = {0, 1000000, 3};
  const struct app_option known[] = {{"--memory-size", &options.bytes, NULL},
                                     {"--cols", &options.cols, NULL},
                                     {"--iterations", &options.iterations, NULL},
                                     {NULL, NULL, NULL}};
  parse_options(argc, argv, "matvec", help, known);
  if (options.bytes == 0 || options.cols == 0)
    fail("no size", "give --memory-size, such as 64M");
  run(&options);
  return 0;
}
