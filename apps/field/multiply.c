// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MULTIPLY: a matrix times a vector, several times over. The matrix is far larger
// than memory; a row is as long as the vector.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "data.h"

static const char help[] =
    "usage: multiply --memory-size TOTAL [--file F] [--cols 1M] [--sweeps 3] [--times]\n"
    "y += A * x for a matrix of doubles; prints its shape and a checksum of y.\n"
    "  --memory-size TOTAL  bytes of the matrix (units K, M, G are binary)\n"
    "  --file F             the matrix is this file, mapped; else memory, filled first\n"
    "  --cols N             of the matrix, and length of x\n"
    "  --sweeps N           over the matrix\n"
    "  --times              seconds of each phase, on stderr; the pass is what is measured\n";

static void multiply(double *y, const double *a, const double *x, size_t rows, size_t cols) {
  for (size_t i = 0; i < rows; i++) {
    double sum = 0;
    for (size_t j = 0; j < cols; j++)
      sum += a[i * cols + j] * x[j];
    y[i] += sum;
  }
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, cols = 1 << 20, sweeps = 3;
  const char *file = NULL;
  const struct app_option options[] = {
      {"--memory-size", &bytes, NULL}, {"--cols", &cols, NULL}, {"--sweeps", &sweeps, NULL}, {"--file", NULL, &file}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "multiply", help, options);
  size_t rows = cols ? bytes / sizeof(double) / cols : 0;
  if (rows == 0)
    fail("--memory-size is too small", "there must be room for a row");
  double *a = file ? (double *)map_file(file, rows * cols * sizeof *a, 0) : (double *)allocate(rows * cols, sizeof *a);
  double *x = (double *)allocate(cols, sizeof *x), *y = (double *)allocate(rows, sizeof *y), total = 0;
  if (!file)
    fill_entries(a, 0, rows * cols);
  fill_entries(x, rows * cols, cols);
  for (size_t i = 0; i < rows; i++)
    y[i] = 0;
  phase("data");
  for (uint64_t i = 0; i < sweeps; i++)
    multiply(y, a, x, rows, cols);
  phase("pass");
  for (size_t i = 0; i < rows; i++)
    total += y[i] * (double)(i % 7 + 1);
  printf("matrix: %zu x %zu\nchecksum: %.0f\n", rows, (size_t)cols, total);
  return 0;
}
