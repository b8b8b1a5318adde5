/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fills an array of so many MiB, and sums it. */
#include <stdlib.h>
int main(int c, char **v) {
  long n = atol(v[1]) << 17;
  double *a = malloc(n * 8), sum = 0;
  for (long i = 0; i < n; i++) a[i] = i;
  for (long i = 0; i < n; i++) sum += a[i];
  return sum < 0;
}
