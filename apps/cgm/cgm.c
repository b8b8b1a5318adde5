// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CGM: the conjugate gradient kernel of the NAS benchmarks, A z = x with a large sparse matrix without
// structure. It stands for indirect reads, p[colidx[k]]: the matrix streams past in order, in rows whose
// lengths only rowstr knows, and picks elements of one vector at random. The vector is a fiftieth of the
// data and is used by every row, so it should stay while the matrix goes by.
//
// Arrays, with n rows and z nonzeros (about 27.5 n):
//   a       double z   colidx  int32 z   rowstr  int64 n + 1   (the matrix, compressed rows)
//   x z p q r   double n each
// --memory-size is the sum: n is about TOTAL / (12 * 27.5 + 48), a little less for room to spare, because
// the lengths of rows are random. a and colidx are 87 % of the total, each vector 2 %.
// Each iteration:
//   multiply  reads a, colidx, rowstr once; reads p at random, z times; writes q
//   the rest  reads p, q; updates z, r; reads r; updates p
// Before: the matrix is written once, row by row, then the vectors. After: one more multiply, of z.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

#include <math.h>

enum { SHORTEST = 10, LONGEST = 60 };    // row lengths before pairs are dropped, without the diagonal
static const double MEAN_LENGTH = 27.5;  // with the diagonal
static const double DEVIATION = 20.0;    // of the length of a row, from above
static const uint64_t BYTES_OF_ROW = 48; // of the vectors and rowstr

struct matrix {
  size_t rows;
  size_t room; // for nonzeros
  int64_t *rowstr;
  int32_t *colidx;
  double *a;
};

static const char help[] =
    "usage: cgm --memory-size TOTAL [--iterations 10] [--seed 1] [--times]\n"
    "Conjugate gradients on a random sparse symmetric positive definite matrix; prints its shape, the\n"
    "norm of the residual, and checks it against the residual computed from the solution.\n"
    "  --memory-size TOTAL  bytes of the matrix and the vectors (units K, M, G are binary)\n"
    "  --iterations N       steps of the method; each reads the matrix once\n"
    "  --seed S             of the matrix\n"
    "  --times              seconds of each phase, on stderr\n";

// The matrix. Row i has entries for k = 0, 1, ... up to a bound, in columns partner(k, i). partner(k, .) is
// its own inverse, so row j has its entry in column i too, and nothing needs to be sorted or looked up: the
// rows are made one after the other.

/// The rows as a rectangle: row = high * width + low. Rows are a multiple of the width.
struct shuffle {
  uint32_t height, width;
  uint64_t seed;
};

static uint32_t mix(uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  value ^= value >> 29;
  value *= 0xbf58476d1ce4e5b9u;
  return (uint32_t)(value >> 32);
}

/// Pseudo-random below `bound`, the same for the same arguments.
static uint32_t below(uint32_t bound, uint64_t key, uint32_t value) {
  return (uint32_t)((uint64_t)mix(key + value) * bound >> 32);
}

static uint32_t add(uint32_t a, uint32_t b, uint32_t bound) {
  return a + b < bound ? a + b : a + b - bound;
}
static uint32_t subtract(uint32_t a, uint32_t b, uint32_t bound) {
  return a >= b ? a - b : a + bound - b;
}

/// Shuffles (two rounds, each shifts one coordinate by a hash of the other), reflects, shuffles back: an
/// involution, and random enough.
static uint32_t partner(const struct shuffle *s, uint32_t k, uint32_t high, uint32_t low) {
  uint64_t key = s->seed + ((uint64_t)k << 33);
  low = add(low, below(s->width, key, high), s->width);
  high = add(high, below(s->height, key, ~low), s->height);
  low = s->width - 1 - low;
  high = s->height - 1 - high;
  high = subtract(high, below(s->height, key, ~low), s->height);
  low = subtract(low, below(s->width, key, high), s->width);
  return high * s->width + low;
}

static uint32_t bound_of_row(const struct shuffle *s, uint32_t row) {
  return SHORTEST + below(LONGEST - SHORTEST + 1, s->seed ^ (uint64_t)1 << 62, row);
}

/// Rows are scaled differently, 0.3 to 1, so that the method needs more than a few steps.
static double scale_of_row(const struct shuffle *s, uint32_t row) {
  return 0.3 + 0.7 * mix((s->seed ^ (uint64_t)1 << 63) + row) / 4294967296.0;
}

/// The same for (i, j) and (j, i): -1 to 1, not scaled.
static double value_of_pair(const struct shuffle *s, uint32_t k, uint32_t i, uint32_t j) {
  return mix((s->seed + ((uint64_t)k << 40)) ^ (uint64_t)(i ^ j) << 20 ^ (i + j)) / 2147483648.0 - 1.0;
}

/// Writes row i from place `at` and returns the place after it. The diagonal exceeds the sum of the
/// others' absolute values (before the scaling, which is the same from both sides): positive definite.
static int64_t build_row(const struct matrix *m, const struct shuffle *s, uint32_t i, int64_t at) {
  uint32_t bound = bound_of_row(s, i);
  uint32_t high = i / s->width, low = i % s->width;
  double scale = scale_of_row(s, i), sum = 0.1;
  int64_t diagonal = at++;
  for (uint32_t k = 0; k < bound; k++) {
    uint32_t j = partner(s, k, high, low);
    if (j == i || k >= bound_of_row(s, j))
      continue;
    double value = value_of_pair(s, k, i, j);
    sum += fabs(value);
    m->a[at] = scale * value * scale_of_row(s, j);
    m->colidx[at] = (int32_t)j;
    at++;
  }
  m->a[diagonal] = scale * scale * sum;
  m->colidx[diagonal] = (int32_t)i;
  return at;
}

static void build(const struct matrix *m, const struct shuffle *s) {
  int64_t at = 0;
  for (size_t i = 0; i < m->rows; i++) {
    if ((size_t)at + LONGEST + 1 > m->room)
      fail("the random rows became too long, which is unlikely", "choose another --seed");
    m->rowstr[i] = at;
    at = build_row(m, s, (uint32_t)i, at);
  }
  m->rowstr[m->rows] = at;
}

// The method.

/// q = A p
static void multiply(const struct matrix *m, const double *restrict p, double *restrict q) {
  const int64_t *rowstr = m->rowstr;
  const int32_t *colidx = m->colidx;
  const double *a = m->a;
  size_t rows = m->rows;
  for (size_t j = 0; j < rows; j++) {
    double sum = 0.0;
    for (int64_t k = rowstr[j]; k < rowstr[j + 1]; k++)
      sum += a[k] * p[colidx[k]];
    q[j] = sum;
  }
}

static double dot(const double *a, const double *b, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/// Returns the norm of the residual by the method's own reckoning; *first gets it for z = 0.
static double solve(const struct matrix *m, const double *restrict x, double *restrict z, double *restrict p,
                    double *restrict q, double *restrict r, uint64_t iterations, double *first) {
  size_t n = m->rows;
  for (size_t i = 0; i < n; i++) {
    z[i] = 0.0;
    r[i] = x[i];
    p[i] = x[i];
  }
  double rho = dot(r, r, n);
  *first = sqrt(rho);
  for (uint64_t step = 0; step < iterations && rho > 0.0; step++) {
    multiply(m, p, q);
    double alpha = rho / dot(p, q, n);
    for (size_t i = 0; i < n; i++) {
      z[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    double before = rho;
    rho = dot(r, r, n);
    double beta = rho / before;
    for (size_t i = 0; i < n; i++)
      p[i] = r[i] + beta * p[i];
  }
  return sqrt(rho);
}

/// |x - A z|
static double true_residual(const struct matrix *m, const double *x, const double *z, double *q) {
  double sum = 0.0;
  multiply(m, z, q);
  for (size_t i = 0; i < m->rows; i++)
    sum += (x[i] - q[i]) * (x[i] - q[i]);
  return sqrt(sum);
}

/// A rectangle that is nearly square, and has at most `rows` places.
static struct shuffle shuffle_of(uint64_t rows, uint64_t seed) {
  struct shuffle s = {0, (uint32_t)sqrt((double)rows), seed * 0x2545f4914f6cdd1du};
  s.height = (uint32_t)(rows / s.width);
  return s;
}

/// As many rows as `bytes` hold, with room for nonzeros of six standard deviations.
static struct shuffle fit(uint64_t bytes, uint64_t seed) {
  double of_row = 12.0 * MEAN_LENGTH + (double)BYTES_OF_ROW;
  double spare = 12.0 * (6.0 * DEVIATION * sqrt((double)bytes / of_row) + LONGEST);
  double rows = floor(((double)bytes - spare) / of_row);
  if (rows < 100.0)
    fail("--memory-size is too small", "100K is enough");
  if (rows > INT32_MAX)
    fail("--memory-size is too large", "column numbers have 32 bits: at most 750G");
  return shuffle_of((uint64_t)rows, seed);
}

static int run(const struct shuffle *s, uint64_t bytes, uint64_t iterations) {
  size_t n = (size_t)s->height * s->width;
  size_t room = (size_t)((bytes - n * BYTES_OF_ROW) / 12);
  struct matrix m = {n, room, (int64_t *)allocate(n + 1, sizeof(int64_t)),
                     (int32_t *)allocate(room, sizeof(int32_t)), (double *)allocate(room, sizeof(double))};
  double *x = (double *)allocate(n, sizeof *x), *z = (double *)allocate(n, sizeof *z);
  double *p = (double *)allocate(n, sizeof *p), *q = (double *)allocate(n, sizeof *q);
  double *r = (double *)allocate(n, sizeof *r);
  build(&m, s);
  for (size_t i = 0; i < n; i++)
    x[i] = 1.0;
  phase("build");
  double first, last = solve(&m, x, z, p, q, r, iterations, &first);
  phase("solve");
  double true_last = true_residual(&m, x, z, q);
  phase("check");
  printf("matrix: %zu rows, %lld nonzeros; %llu iterations\n", n, (long long)m.rowstr[n],
         (unsigned long long)iterations);
  printf("residual: %.15e, at first %.15e\nx.z: %.15e\n", last, first, dot(x, z, n));
  free(m.rowstr), free(m.colidx), free(m.a);
  free(x), free(z), free(p), free(q), free(r);
  return verification(last < first && fabs(true_last - last) <= 1e-10 * first);
}

int main(int argc, char **argv) {
  static uint64_t bytes, iterations = 10, seed = 1;
  static const struct app_option options[] = {
      {"--memory-size", &bytes}, {"--iterations", &iterations}, {"--seed", &seed}, {NULL, NULL}};
  parse_options(argc, argv, "cgm", help, options);
  if (bytes == 0 || iterations == 0)
    fail("nothing to do", "give --memory-size, and --iterations 1 or more");
  struct shuffle s = fit(bytes, seed);
  return run(&s, bytes, iterations);
}
