// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are entered together compute what they did.
// RUN: %differential "%s" "%t"

#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

NOINLINE void smooth(long n, long m, long l, double u[n][m][l], double v[n][m][l], double near[l]) {
  for (long k = 1; k < n - 1; k++)
    for (long j = 1; j < m - 1; j++) {
      for (long i = 0; i < l; i++)
        near[i] = u[k][j - 1][i] + u[k][j + 1][i] + u[k - 1][j][i] + u[k + 1][j][i];
      for (long i = 1; i < l - 1; i++)
        v[k][j][i] = u[k][j][i] - 0.25 * (near[i - 1] + near[i + 1]);
    }
}

/// Leaves in the middle of both when it comes to `last`.
NOINLINE long until(long n, long m, long l, double u[n][m][l], double v[n][m][l], double last) {
  for (long k = 0; k < n; k++)
    for (long j = 0; j < m; j++) {
      for (long i = 0; i < l; i++)
        u[k][j][i] += v[k][j][i];
      if (u[k][j][l / 2] == last)
        return k * m + j;
      for (long i = 0; i < l; i++)
        v[k][j][i] *= 0.5;
    }
  return -1;
}

/// An inner loop that is not always entered.
NOINLINE void some(long n, long m, long l, double u[n][m][l], double v[n][m][l]) {
  for (long k = 0; k < n; k++)
    for (long j = 0; j < m; j++) {
      if (u[k][j][0] > 0.5)
        for (long i = 0; i < l; i++)
          u[k][j][i] = v[k][j][i];
      for (long i = 0; i < l - 2; i++)
        v[k][j][i] = u[k][j][i + 2];
    }
}

int main(void) {
  long n = 9, m = 14, l = 33;
  size_t points = (size_t)(n * m * l);
  double *u = malloc(points * sizeof *u), *v = malloc(points * sizeof *v), *near = malloc((size_t)l * sizeof *near);
  for (size_t i = 0; i < points; i++)
    u[i] = (double)(i * 2654435761u % 1000) / 1000.0, v[i] = (double)(i % 7);
  smooth(n, m, l, (void *)u, (void *)v, near);
  some(n, m, l, (void *)u, (void *)v);
  long at = until(n, m, l, (void *)u, (void *)v, -1.0);
  double last = u[5 * m * l + 3 * l + l / 2] + v[5 * m * l + 3 * l + l / 2];
  long early = until(n, m, l, (void *)u, (void *)v, last);
  double sum = 0.0;
  for (size_t i = 0; i < points; i++)
    sum = sum * 0.999 + u[i] - v[i];
  printf("%ld %ld %.17g\n", at, early, sum);
  free(u), free(v), free(near);
}
