// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Large globals, zero and initialised, in nests of three loops, with a column walk.
#include <stdio.h>

#define N 256
static double cube[N][N][N / 8];
static double sums[N];
static int table[1 << 20] = {1, 2, 3};
static unsigned spread[3 << 20];

int main(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N / 8; k++)
        cube[i][j][k] = i * 0.5 + j * 0.25 - k;
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++)
      for (int k = 0; k < N / 8; k++)
        sums[j] += cube[i][j][k];
  for (int i = 3; i < 1 << 20; i++)
    table[i] = (table[i - 1] * 5 + table[i - 3]) & 0xffff;
  for (int i = 0; i < 1 << 20; i++)
    spread[(unsigned)table[i] * 41u % (3u << 20)] += (unsigned)i;
  double total = 0;
  unsigned long long hash = 0;
  for (int j = 0; j < N; j++)
    total += sums[j] * (j + 1);
  for (int i = (3 << 20) - 1; i >= 0; i--)
    hash = hash * 31 + spread[i];
  printf("%.17g %llx\n", total, hash);
  return 0;
}
