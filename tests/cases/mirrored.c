// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A symmetric matrix of distances, where each place of a row is stored to, and so is its mirror image in the column: pages
// far ahead are stored to for the first time by the column, long before the row comes to them.
//
// Usage: mirrored POINTS TURNS
#include "case.h"

int main(int argc, char **argv) {
  const long points = case_argument(argc, argv, 1, 1000), turns = case_argument(argc, argv, 2, 1);
  double *at = case_memory((size_t)points * sizeof *at), sum = 0;
  uint64_t state = 3;
  for (long i = 0; i < points; i++) at[i] = (double)(case_random(&state) % 1000) * 0.01;
  const double since = case_now();
  for (long t = 0; t < turns; t++) {
    double *apart = case_memory((size_t)(points * points) * sizeof *apart);
    for (long i = 0; i < points; i++) {
      apart[i * points + i] = 0;
      for (long j = i + 1; j < points; j++) {
        const double d = at[i] - at[j] + (double)t;
        apart[i * points + j] = d * d;
        apart[j * points + i] = d * d;
      }
    }
    for (long i = 0; i < points * points; i++) sum += apart[i] * (double)(i % 5);
    free(apart);
  }
  case_pass(since);
  printf("%.12e\n", sum);
  return 0;
}
