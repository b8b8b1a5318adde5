// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planes whose ends meet: neighbours by tests, by corrections and by rests.
#include <stdio.h>
#include <stdlib.h>

#ifndef ROWS
#define ROWS 1500 // 34 MiB a plane
#endif
static int rows = ROWS, columns = 3000;

#define HERE(p, i, j) p[(size_t)(i) * (size_t)columns + (size_t)(j)]

__attribute__((noinline)) static void by_tests(double *restrict v, const double *restrict u) {
  for (int i = 0; i < rows; i++) {
    const int down = i == rows - 1 ? 0 : i + 1, up = i == 0 ? rows - 1 : i - 1;
    for (int j = 0; j < columns; j++) {
      const int right = j == columns - 1 ? 0 : j + 1, left = j == 0 ? columns - 1 : j - 1;
      HERE(v, i, j) = 0.25 * (HERE(u, down, j) + HERE(u, up, j) + HERE(u, i, right) + HERE(u, i, left));
    }
  }
}

__attribute__((noinline)) static void by_corrections(double *restrict v, const double *restrict u) {
  for (int i = 0; i < rows; i++) {
    int down = i + 1, up = i - 1;
    if (down >= rows) down -= rows;
    if (up < 0) up += rows;
    for (int j = 0; j < columns; j++) {
      int right = j + 1, left = j - 1;
      if (right >= columns) right -= columns;
      if (left < 0) left += columns;
      HERE(v, i, j) = 0.25 * (HERE(u, down, j) + HERE(u, up, j) + HERE(u, i, right) + HERE(u, i, left));
    }
  }
}

__attribute__((noinline)) static long by_rests(double *u) {
  long changed = 0;
  for (int i = 0; i < rows; i++)
    for (int j = i % 2; j < columns; j += 2) {
      const double around = HERE(u, (i + 1) % rows, j) + HERE(u, (i - 1 + rows) % rows, j) + HERE(u, i, (j + 1) % columns) +
                            HERE(u, i, (j - 1 + columns) % columns);
      if (around > 4 * HERE(u, i, j)) {
        HERE(u, i, j) = 0.25 * around;
        changed++;
      }
    }
  return changed;
}

int main(int argc, char **argv) {
  (void)argv;
  double *u = malloc((size_t)rows * (size_t)columns * sizeof *u), *v = malloc((size_t)rows * (size_t)columns * sizeof *v);
  if (!u || !v) return 1;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) HERE(u, i, j) = (double)((i * 7 + j * 13) % 101);
  long changed = 0;
  for (int t = 0; t < 2 * argc; t++) {
    by_tests(v, u);
    by_corrections(u, v);
    changed += by_rests(u);
  }
  double sum = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) sum += HERE(u, i, j) * (double)(i % 3) - HERE(v, i, j);
  printf("%ld %.17g\n", changed, sum);
  return 0;
}
