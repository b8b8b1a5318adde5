// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CHOLESKY: the factors L D L' of a sparse matrix, row by row: that of a 7-point grid in three dimensions. Each row is solved for with
// the columns before it that its pattern names (the paths to the root in the elimination tree), and then stored at their ends.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

static const char help[] = "usage: cholesky --memory-size TOTAL [--times]\n"
                           "Factors the matrix of a cube, and solves; prints a sum.\n"
                           "  --memory-size TOTAL  bytes of the factors, about (units K, M, G are binary)\n";

struct factors {
  size_t n;
  size_t *column; ///< where each begins, one more than there are
  size_t *count; ///< entries that it has so far
  int *row;
  double *value, *diagonal;
  int *parent, *seen, *pattern;
};

/// Columns before `k` in which row k of the matrix has an entry: the neighbours of point k. Returns how many.
static int neighbours(int k, int side, int *out) {
  int n = 0;
  if (k % side) out[n++] = k - 1;
  if (k / side % side) out[n++] = k - side;
  if (k / side / side) out[n++] = k - side * side;
  return n;
}

/// The pattern of row k of L, in an order in which it can be solved for: from the place returned to n.
static size_t pattern_of(struct factors *f, int k, int side) {
  int from[3], count = neighbours(k, side, from), path[4096];
  size_t top = f->n;
  f->seen[k] = k;
  for (int i = 0; i < count; i++) {
    int length = 0;
    for (int at = from[i]; f->seen[at] != k; at = f->parent[at]) {
      if (f->parent[at] < 0) f->parent[at] = k;
      if (length < 4096) path[length++] = at;
      f->seen[at] = k;
    }
    while (length) f->pattern[--top] = path[--length];
  }
  return top;
}

/// First how long the columns will be, then where they begin.
static void lay_out(struct factors *f, int side) {
  for (size_t i = 0; i < f->n; i++) f->parent[i] = -1, f->seen[i] = -1, f->count[i] = 0;
  for (size_t k = 0; k < f->n; k++)
    for (size_t p = pattern_of(f, (int)k, side); p < f->n; p++) f->count[f->pattern[p]]++;
  f->column[0] = 0;
  for (size_t i = 0; i < f->n; i++) f->column[i + 1] = f->column[i] + f->count[i], f->count[i] = 0;
  for (size_t i = 0; i < f->n; i++) f->seen[i] = -1;
}

static void factor(struct factors *f, int side, double *y) {
  for (size_t k = 0; k < f->n; k++) {
    int from[3], count = neighbours((int)k, side, from);
    double d = 6.5;
    size_t p = pattern_of(f, (int)k, side);
    for (int i = 0; i < count; i++) y[from[i]] = -1;
    for (; p < f->n; p++) {
      const size_t c = (size_t)f->pattern[p], begin = f->column[c], end = begin + f->count[c];
      const double yc = y[c], l = yc / f->diagonal[c];
      y[c] = 0;
      for (size_t i = begin; i < end; i++) y[f->row[i]] -= f->value[i] * yc;
      d -= l * yc;
      f->row[end] = (int)k;
      f->value[end] = l;
      f->count[c]++;
    }
    f->diagonal[k] = d;
  }
}

static double solve(const struct factors *f, double *x) {
  double sum = 0;
  for (size_t k = 0; k < f->n; k++)
    for (size_t i = f->column[k]; i < f->column[k + 1]; i++) x[f->row[i]] -= f->value[i] * x[k];
  for (size_t k = f->n; k-- > 0;) {
    x[k] /= f->diagonal[k];
    for (size_t i = f->column[k]; i < f->column[k + 1]; i++) x[k] -= f->value[i] * x[f->row[i]];
    sum += x[k];
  }
  return sum;
}

int main(int argc, char **argv) {
  uint64_t bytes = 0;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "cholesky", help, options);
  int side = 2; // the fifth power of it is about the number of entries
  while ((uint64_t)(side + 1) * (side + 1) * (side + 1) * (side + 1) * (side + 1) * 12 <= bytes) side++;
  struct factors f = {(size_t)side * side * side, 0, 0, 0, 0, 0, 0, 0, 0};
  f.column = (size_t *)allocate(f.n + 1, sizeof(size_t)), f.count = (size_t *)allocate(f.n, sizeof(size_t));
  f.parent = (int *)allocate(f.n, sizeof(int)), f.seen = (int *)allocate(f.n, sizeof(int));
  f.pattern = (int *)allocate(f.n, sizeof(int)), f.diagonal = (double *)allocate(f.n, sizeof(double));
  double *x = (double *)allocate(f.n, sizeof *x);
  lay_out(&f, side);
  const size_t entries = f.column[f.n];
  f.row = (int *)allocate(entries, sizeof(int)), f.value = (double *)allocate(entries, sizeof(double));
  for (size_t i = 0; i < f.n; i++) x[i] = 0;
  phase("layout");
  factor(&f, side, x);
  phase("factor");
  for (size_t i = 0; i < f.n; i++) x[i] = 1;
  const double sum = solve(&f, x);
  phase("solve");
  printf("points: %zu\nentries: %zu\nsum: %.12e\n", f.n, entries, sum);
  return 0;
}
