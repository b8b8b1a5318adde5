// Few rows, each long, with bounds of their own: a matrix by its diagonals, times a vector, again and again; and many short
// rows that are copied in one go, to places in another order.
#include <stdio.h>
#include <stdlib.h>

static void multiply(long n, long diagonals, const long *offset, const double *a, const double *x, double *y) {
  for (long i = 0; i < n; i++) y[i] = 0;
  for (long d = 0; d < diagonals; d++) {
    long from = offset[d] < 0 ? -offset[d] : 0, to = offset[d] > 0 ? n - offset[d] : n;
    for (long i = from; i < to; i++) y[i] += a[d * n + i] * x[i + offset[d]];
  }
}

static void reorder(long blocks, long rows, long length, const double *from, double *to) {
  for (long b = 0; b < blocks; b++)
    for (long r = 0; r < rows; r++)
      for (long i = 0; i < length; i++) to[(r * blocks + b) * length + i] = from[(b * rows + r) * length + i];
}

int main(int argc, char **argv) {
  const long n = 600000 + argc, diagonals = 9 + argc - 1;
  long offset[16];
  double *a = malloc(n * diagonals * sizeof *a), *b = malloc(n * diagonals * sizeof *b), *x = malloc(n * sizeof *x),
         *y = malloc(n * sizeof *y);
  if (!a || !b || !x || !y) return 1;
  for (long d = 0; d < diagonals; d++) {
    offset[d] = (d - diagonals / 2) * 700;
    for (long i = 0; i < n; i++) a[d * n + i] = 1.0 / (1 + (i + d) % 7);
  }
  for (long i = 0; i < n; i++) x[i] = i % 5;
  for (int t = 0; t < 3; t++) {
    multiply(n, diagonals, offset, a, x, y);
    double *old = x;
    x = y;
    y = old;
  }
  const long length = 300 + argc;
  reorder(9, n / length, length, a, b);
  double sum = 0;
  for (long i = 0; i < n / length * length * 9; i++) sum += b[i] * (i % 3);
  printf("%.17g %.17g %s\n", sum, x[n / 2], argv[0] ? "done" : "");
  return 0;
}
