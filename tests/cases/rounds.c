// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a page in an order drawn by lot, and the same in each round: a little more than memory, all foreseen by a slice. The row
// that was used longest ago is the next to be wanted.
//
// Usage: rounds ROWS ROUNDS.
#include "case.h"

enum { kColumns = 512 };

__attribute__((noinline)) static double weigh(const double *rows, const int *order, long count, long rounds) {
  double sum = 0;
  for (long round = 1; round <= rounds; round++) {
    for (long i = 0; i < count; i++) {
      const double *row = rows + (long)order[i] * kColumns;
      for (long k = 0; k < kColumns; k++) sum += row[k] * (double)round;
    }
  }
  return sum;
}

int main(int argc, char **argv) {
  const long count = case_argument(argc, argv, 1, 1000), rounds = case_argument(argc, argv, 2, 2);
  double *rows = case_memory((size_t)(count * kColumns) * sizeof *rows);
  int *order = case_memory((size_t)count * sizeof *order);
  uint64_t state = 11;
  for (long i = 0; i < count * kColumns; i++) rows[i] = (double)case_random(&state) * (double)case_random(&state); // not to be compressed
  for (long i = 0; i < count; i++) order[i] = (int)i;
  for (long i = count; i-- > 1;) {
    const long j = case_random(&state) % (uint32_t)(i + 1);
    const int other = order[i];
    order[i] = order[j], order[j] = other;
  }
  const double since = case_now();
  const double sum = weigh(rows, order, count, rounds);
  case_pass(since);
  printf("%ld rows, %.12e\n", count, sum);
  return 0;
}
