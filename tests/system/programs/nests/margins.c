// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A grid whose inside is stored over again and again, in rows shorter than a page; its boundary is stored by others, at
// other times, and must stay: between the rows, the planes, and at both ends. The argument: elements of a row, 500 or a
// number that divides it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef PLANES
#define PLANES 48
#endif
enum { K = PLANES, J = 150, I = 500 };
static volatile size_t planes = K, rows = J, length = I;

#define NOINLINE __attribute__((noinline))

NOINLINE static void inside(size_t n, size_t m, size_t l, uint64_t x[n][m][l], uint64_t key) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < m - 1; j++)
      for (size_t i = 1; i < l - 1; i++) x[k][j][i] = key * i + (j ^ k);
}

/// One more or less at the ends: other rows in the same place.
NOINLINE static void narrower(size_t n, size_t m, size_t l, uint64_t x[n][m][l], uint64_t key) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 0; j < m; j++)
      for (size_t i = 2; i < l - 2; i++) x[k][j][i] = key ^ (i * j + k);
}

/// Wraps each row around.
NOINLINE static void ends(size_t n, size_t m, size_t l, uint64_t x[n][m][l]) {
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < m; j++) {
      x[k][j][0] = x[k][j][l - 2];
      x[k][j][l - 1] = x[k][j][1] + 1;
    }
}

/// Stores to single elements, most of which are in margins.
NOINLINE static void scattered(size_t n, size_t m, size_t l, uint64_t x[n][m][l], uint64_t key) {
  uint64_t at = key;
  for (int c = 0; c < 3000; c++) {
    at = at * 6364136223846793005u + 1442695040888963407u;
    x[(at >> 33) % n][(at >> 20) % m][at >> 63 ? 0 : l - 1] ^= at;
  }
}

static void show(const char *what, const uint64_t *x) {
  uint64_t sum = 0;
  for (size_t i = 0; i < (size_t)K * J * I; i++) sum = sum * 31 + x[i];
  printf("%s %016llx\n", what, (unsigned long long)sum);
}

int main(int argc, char **argv) {
  const size_t l = argc > 1 ? (size_t)atoi(argv[1]) : length, m = rows * length / l, n = planes;
  uint64_t(*x)[m][l] = calloc(n, sizeof *x), (*y)[m][l] = calloc(n, sizeof *y);
  if (!x || !y) return 1;
  for (uint64_t round = 1; round <= 5; round++) {
    inside(n, m, l, x, round);
    if (round != 2) ends(n, m, l, x);
    inside(n, m, l, y, round * round);
    if (round > 2) scattered(n, m, l, x, round);
    show("x", (const uint64_t *)x);
    if (round % 2) narrower(n, m, l, x, round);
    if (round == 4) scattered(n, m, l, y, round);
    show("y", (const uint64_t *)y);
    inside(n, m, l, x, round + 7);
    show("x again", (const uint64_t *)x);
  }
  free(x), free(y);
  return 0;
}
