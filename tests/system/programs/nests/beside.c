// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stencil whose result takes the place of something else: planes are summed in a loop next to the one that stores them,
// which knows of what is read there only by comparing. The two arrays may be anywhere, one within the other as well.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLANES = 96, ROWS = 64, COLUMNS = 520, AHEAD = 60, CLOSE = 2 * COLUMNS };
static const size_t plane = (size_t)ROWS * COLUMNS;

__attribute__((noinline)) static void smooth(size_t planes, size_t rows, size_t columns, uint64_t u[planes][rows][columns],
                                             uint64_t r[planes][rows][columns]) {
  uint64_t near[columns + 2];
  near[0] = near[columns + 1] = planes;
  for (size_t k = 1; k < planes - 1; k++)
    for (size_t j = 1; j < rows - 1; j++) {
      for (size_t i = 0; i < columns; i++)
        near[i + 1] = u[k][j - 1][i] + u[k][j + 1][i] + 3 * u[k - 1][j][i] + 5 * u[k + 1][j][i];
      for (size_t i = 0; i < columns; i++) r[k][j][i] = near[i] + near[i + 2] - 7 * near[i + 1] + k;
    }
}

static void show(const char *what, const uint64_t *x) {
  uint64_t sum = 0;
  for (size_t i = 0; i < PLANES * plane; i++) sum = sum * 31 + x[i];
  printf("%s %016llx\n", what, (unsigned long long)sum);
}

int main(int argc, char **argv) {
  const int apart = argc < 2 || argv[1][0] != 'o', within = argc < 2 || argv[1][0] == 'o';
  uint64_t *a = malloc((PLANES + AHEAD) * plane * sizeof *a), *b = malloc(PLANES * plane * sizeof *b);
  for (size_t i = 0; i < (PLANES + AHEAD) * plane; i++) a[i] = i * 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < PLANES * plane; i++) b[i] = i ^ i >> 7;
  for (int time = 0; time < 2 && apart; time++) {
    smooth(PLANES, ROWS, COLUMNS, (void *)a, (void *)b);
    show("apart", b);
    smooth(PLANES, ROWS, COLUMNS, (void *)b, (void *)a);
    show("and back", a);
  }
  if (within) {
    smooth(PLANES, ROWS, COLUMNS, (void *)(a + AHEAD * plane), (void *)a); // reads what it will store later
    show("behind", a);
    smooth(PLANES, ROWS, COLUMNS, (void *)a, (void *)(a + AHEAD * plane)); // and what it has stored
    show("ahead", a + AHEAD * plane);
    smooth(PLANES, ROWS, COLUMNS, (void *)(a + CLOSE), (void *)a);
    show("close behind", a);
  }
  free(a), free(b);
  return 0;
}
