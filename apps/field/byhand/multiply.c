// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MULTIPLY by hand: the vector stays in memory, and so does as much of the matrix's beginning as there is room for;
// the rest streams past once a sweep, and is being read while the part in memory is multiplied.
#include "stream.h"

static const char help[] =
    "usage: multiply --memory-size TOTAL --file F --memory M [--cols 1M] [--sweeps 3] [--times]\n"
    "See ../multiply.c.\n"
    "  --memory M  bytes that may be used\n";

struct product {
  double *y;
  const double *x;
  size_t cols;
};

/// Elements [at, at + n) of the matrix; they begin and end within rows.
static void multiply(struct product *p, const double *a, uint64_t at, size_t n) {
  while (n) {
    size_t row = at / p->cols, col = at % p->cols, run = p->cols - col < n ? p->cols - col : n;
    double sum = 0;
    for (size_t j = 0; j < run; j++)
      sum += a[j] * p->x[col + j];
    p->y[row] += sum;
    a += run;
    at += run;
    n -= run;
  }
}

/// One sweep. The first fills the `kept` bytes at `keep`.
static void sweep(struct stream *s, struct product *p, char *keep, uint64_t kept, uint64_t bytes, int first) {
  uint64_t at = first ? 0 : kept;
  size_t got;
  const char *block;
  stream_start(s, at, bytes);
  if (!first)
    multiply(p, (const double *)keep, 0, kept / sizeof(double));
  while ((block = stream_next(s, &got))) {
    if (at < kept)
      memcpy(keep + at, block, got);
    multiply(p, (const double *)block, at / sizeof(double), got / sizeof(double));
    at += got;
  }
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, cols = 1 << 20, sweeps = 3, memory = 0;
  const char *file = "";
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {"--cols", &cols, NULL},  {"--sweeps", &sweeps, NULL},
                                       {"--memory", &memory, NULL},     {"--file", NULL, &file}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "multiply", help, options);
  size_t rows = cols ? bytes / sizeof(double) / cols : 0;
  if (rows == 0)
    fail("--memory-size is too small", "there must be room for a row");
  bytes = rows * cols * sizeof(double);
  double *x = (double *)allocate(cols, sizeof *x), *y = (double *)calloc(rows, sizeof *y), total = 0;
  uint64_t own = (uint64_t)DEPTH * BLOCK + (rows + cols) * sizeof(double), kept = memory > own ? (memory - own) / BLOCK * BLOCK : 0;
  if (kept > bytes)
    kept = bytes / BLOCK * BLOCK;
  char *keep = aligned_memory(kept + PAGE);
  struct stream s;
  fill_entries(x, rows * cols, cols);
  stream_open(&s, file, 0, bytes);
  struct product p = {y, x, cols};
  phase("data");
  for (uint64_t i = 0; i < sweeps; i++)
    sweep(&s, &p, keep, kept, bytes, i == 0);
  phase("pass");
  stream_close(&s);
  for (size_t i = 0; i < rows; i++)
    total += y[i] * (double)(i % 7 + 1);
  printf("matrix: %zu x %zu\nchecksum: %.0f\n", rows, (size_t)cols, total);
  return 0;
}
