// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps in time between levels of one array that take turns, in the rest of the step's number; and sweeps in all directions.
#include <stdio.h>
#include <stdlib.h>

#ifndef ROWS
#define ROWS 1500 // 34 MiB a level
#endif
enum { kLevels = 2, kRows = ROWS, kColumns = 3000 };

static double level[kLevels][kRows][kColumns];

__attribute__((noinline)) static void advance(int steps) {
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < kRows - 1; i++)
      for (int j = 1; j < kColumns - 1; j++)
        level[(t + 1) % kLevels][i][j] = 0.25 * (level[t % kLevels][i - 1][j] + level[t % kLevels][i + 1][j] +
                                                 level[t % kLevels][i][j - 1] + level[t % kLevels][i][j + 1]);
}

__attribute__((noinline)) static long sweep(double (*a)[kColumns], int di, int dj) {
  long changed = 0;
  for (int i = di > 0 ? 1 : kRows - 2; di > 0 ? i < kRows : i >= 0; i += di)
    for (int j = dj > 0 ? 1 : kColumns - 2; dj > 0 ? j < kColumns : j >= 0; j += dj)
      if (a[i - di][j] + a[i][j - dj] < 1.5 * a[i][j]) {
        a[i][j] = a[i - di][j] + a[i][j - dj];
        changed++;
      }
  return changed;
}

__attribute__((noinline)) static double relax(double (*a)[kColumns], int up, int back) {
  double most = 0;
  for (int k = 1; k < kRows - 1; k++) {
    const int i = up ? kRows - 1 - k : k;
    for (int l = 1; l < kColumns - 1; l++) {
      const int j = back ? kColumns - 1 - l : l;
      const double old = a[i][j];
      a[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
      if (a[i][j] - old > most) most = a[i][j] - old;
    }
  }
  return most;
}

int main(int argc, char **argv) {
  (void)argv;
  for (long i = 0; i < kRows; i++)
    for (long j = 0; j < kColumns; j++) level[0][i][j] = level[1][i][j] = (double)((i * 7 + j * 13) % 101);
  advance(4 * argc);
  long changed = 0;
  for (int k = 0; k < 4 * argc; k++) changed += sweep(level[k / 2 % kLevels], k & 1 ? 1 : -1, k & 2 ? 1 : -1);
  double sum = 0;
  for (int k = 0; k < 4 * argc; k++) sum += relax(level[k % kLevels], k & 1, k & 2);
  for (long i = 0; i < kRows; i++)
    for (long j = 0; j < kColumns; j++) sum += level[0][i][j] * (double)(i % 3) - level[1][i][j];
  printf("%ld %.17g\n", changed, sum);
  return 0;
}
