// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that the runtime closes by itself, also while another one of the same loop goes on: none is left open, and none
// ticks on when it has been closed.
// RUN: %differential "%s" "%t"

#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

/// Of two nests in one loop the one that was opened first ends first.
NOINLINE void both(size_t n, size_t m, size_t l, double *restrict u, double *restrict v) {
  if (m == 0 || l == 0)
    return;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < m; j++)
      u[i * m + j] += 0.5;
    for (size_t j = 0; j < l; j++)
      v[i * l + j] *= 0.5;
  }
}

NOINLINE void sweeps(size_t times, size_t n, size_t m, double *restrict sum, const double *restrict u) {
  if (m == 0)
    return;
  for (size_t t = 0; t < times; t++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < m; j++)
        sum[i] += u[i * m + j];
}

/// Ticks: one for each row.
NOINLINE void planes(size_t times, size_t l3, size_t l2, size_t l1, double u[l3][l2][l1]) {
  if (l1 == 0 || l2 == 0)
    return;
  for (size_t t = 0; t < times; t++)
    for (size_t k = 0; k < l3; k++)
      for (size_t j = 0; j < l2; j++)
        for (size_t i = 0; i < l1; i++)
          u[k][j][i] = u[k][j][i] * 0.75 + (double)(i ^ t);
}

int main(void) {
  size_t n = 7, m = 300, l = 200;
  double *u = calloc(n * m, sizeof *u), *v = calloc(n * l, sizeof *v), *sum = calloc(n, sizeof *sum);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < n * l; i++)
      v[i] += (double)(i % 11);
    both(n, m, l, u, v);
    both(1, 1, 1, u, v);
    sweeps(2, n, m, sum, u);
    planes(2, n, 15, 20, (void *)u);
    planes(1, 1, 1, 1, (void *)v);
  }
  double total = 0;
  for (size_t i = 0; i < n; i++)
    total = total * 0.9 + sum[i] + v[i * l + i];
  printf("%.17g\n", total);
  free(u), free(v), free(sum);
  return 0;
}
