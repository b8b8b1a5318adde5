// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TRANSPOSE: a square matrix in place, element by element: rows are walked, and columns.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

static const char help[] = "usage: transpose --memory-size TOTAL [--iterations 2] [--times]\n"
                           "Transposes a square matrix in place; prints a sum.\n"
                           "  --memory-size TOTAL  bytes of the matrix (units K, M, G are binary)\n"
                           "  --iterations N       so many times\n";

static void transpose(double *a, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) {
      const double x = a[i * n + j];
      a[i * n + j] = a[j * n + i];
      a[j * n + i] = x;
    }
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, iterations = 2;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {"--iterations", &iterations, NULL}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "transpose", help, options);
  size_t n = 1;
  while ((n + 1) * (n + 1) * sizeof(double) <= bytes) n++;
  double *a = (double *)allocate(n * n, sizeof *a), sum = 0;
  for (size_t i = 0; i < n * n; i++) a[i] = (double)(i % 1021);
  phase("fill");
  for (uint64_t k = 0; k < iterations; k++) transpose(a, n), a[k] += 1;
  phase("transpose");
  for (size_t i = 0; i < n * n; i++) sum += a[i] * (double)(i % 7);
  phase("sum");
  printf("n: %zu\nsum: %.17g\n", n, sum);
  return 0;
}
