// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A solver with a triangular matrix: forward by its rows and back by its columns, again for each right side. Two nests with slices
// begin with the same loop.
//
// Usage: triangles ROWS SIDES.
#include "case.h"

__attribute__((noinline)) static void solve(const double *matrix, double *sides, long rows, long count) {
  for (long s = 0; s < count; s++) {
    double *x = sides + s * rows;
    for (long i = 0; i < rows; i++) {
      double rest = x[i];
      for (long j = 0; j < i; j++) rest -= matrix[i * rows + j] * x[j];
      x[i] = rest;
    }
    for (long i = rows - 1; i >= 0; i--) {
      double rest = x[i];
      for (long j = i + 1; j < rows; j++) rest -= matrix[j * rows + i] * x[j];
      x[i] = rest;
    }
  }
}

int main(int argc, char **argv) {
  const long rows = case_argument(argc, argv, 1, 1000), count = case_argument(argc, argv, 2, 2);
  double *matrix = case_memory((size_t)(rows * rows) * sizeof *matrix), *sides = case_memory((size_t)(rows * count) * sizeof *sides);
  uint64_t state = 5;
  for (long i = 0; i < rows * rows; i++) matrix[i] = (double)(case_random(&state) & 0xffff) / 0x10000 / (double)rows;
  for (long i = 0; i < rows * count; i++) sides[i] = (double)(case_random(&state) & 0xffff);
  const double since = case_now();
  solve(matrix, sides, rows, count);
  case_pass(since);
  double sum = 0;
  for (long i = 0; i < rows * count; i++) sum += sides[i] * (double)(i % 7);
  printf("%ld rows, %.12e\n", rows, sum);
  return 0;
}
