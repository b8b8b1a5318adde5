// Two arrays of fixed size, gone through by columns that look at the rows above and below: a relaxation, line solves down
// and up, a sum. ROWS times a page must fit in memory; then each page need be read once for each walk.
#include <stdio.h>

#ifndef ROWS
#define ROWS 400
#define COLUMNS 8100
#endif

static double u[ROWS][COLUMNS], w[ROWS][COLUMNS];

int main(void) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) u[i][j] = i * j % 17;
  for (int j = 1; j < COLUMNS - 1; j++)
    for (int i = 1; i < ROWS - 1; i++) w[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
  for (int j = 0; j < COLUMNS; j++) {
    for (int i = 1; i < ROWS; i++) w[i][j] -= 0.3 * w[i - 1][j];
    for (int i = ROWS - 2; i >= 0; i--) w[i][j] = (w[i][j] - 0.2 * w[i + 1][j]) * 0.9;
  }
  double sum = 0;
  for (int j = 0; j < COLUMNS; j++)
    for (int i = 2; i < ROWS - 2; i++) sum += w[i - 2][j] + w[i + 2][j] - w[i - 1][j] - w[i + 1][j] + 2 * w[i][j];
  printf("%a\n", sum);
  return 0;
}
