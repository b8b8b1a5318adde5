// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A symmetric matrix, of 2,400 rows or as many as asked for, is made row by row, and each row mirrored into its column: the column's stores come to a
// page of every row first, long before the row's own.
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **argument) {
  const long rows = count > 1 ? atol(argument[1]) : 2400;
  double sum = 0, *y = malloc(rows * sizeof *y), *d = malloc(rows * rows * sizeof *d);
  for (long i = 0; i < rows; i++) y[i] = (double)i * 0.37;
  for (long n = 0; n < rows; n++) {
    double *e = &d[n * rows + n], *m = e + rows;
    *e = 0;
    for (long k = n + 1; k < rows; k++, m += rows) {
      *++e = (y[n] - y[k]) * (y[n] - y[k]);
      *m = *e;
    }
  }
  for (long i = 0; i < rows * rows; i++) sum += d[i] * (double)(i % 3);
  printf("%.12e\n", sum);
}
