// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A narrow counter comes round again, and the rows with it: hints go on to where the program never comes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 1 << 16, kRow = 128 };

__attribute__((noinline)) static double rounds(const double *a, uint16_t step, uint32_t n) {
  double sum = 0;
  for (uint32_t k = 0; k < n; k++) {
    const double *row = a + (size_t)(uint16_t)(k * step) * kRow;
    for (int j = 0; j < kRow; j += 16) sum += row[j];
  }
  return sum;
}

int main(void) {
  const size_t n = (size_t)kRows * kRow;
  double *a = malloc(n * sizeof *a);
  for (size_t i = 0; i < n; i++) a[i] = (double)(i % 977);
  printf("%.0f\n", rounds(a, 1, 3 * kRows) + rounds(a, (uint16_t)-1, 2 * kRows));
  return 0;
}
