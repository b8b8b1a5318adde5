// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repeated sweeps. Where the test of the inner loop stays at its head, only the outer one can be ticked.
#include <stdio.h>
#include <stdlib.h>

#ifndef ELEMENTS
#define ELEMENTS (8l << 20)
#endif

int main(void) {
  const long n = ELEMENTS;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (long i = 0; i < n; i++) {
    a[i] = i % 1000;
    b[i] = i % 77;
  }
  for (int t = 0; t < 3; t++)
    for (long i = 1; i < n - 1; i++)
      b[i] = 0.5 * b[i] + 0.25 * (a[i - 1] + a[i + 1]);
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += b[i];
  printf("%.17g\n", sum);
}
