// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of many shapes compute the same with hints as without.
// RUN: %differential "%s" "%t"

#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 5000
#define NOINLINE __attribute__((noinline))

static double a[N], b[N], c[N];
static int key[N], rank_[N], out[N], count[1 << 16];
static double matrix[60][70], transposed[70][60];
static double cube[12][70][33], cube2[12][70][33];

static uint64_t hash(const void *data, size_t bytes) {
  const unsigned char *p = data;
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < bytes; i++)
    h = (h ^ p[i]) * 1099511628211u;
  return h;
}
#define SHOW(name, x) printf("%s %016lx\n", name, (unsigned long)hash(&(x), sizeof(x)))

NOINLINE void saxpy(double *restrict x, const double *restrict y, double f, long n) {
  for (long i = 0; i < n; i++)
    x[i] += f * y[i];
}
NOINLINE void aliased(double *x, double *y, long n) {
  for (long i = 1; i < n; i++)
    x[i] = y[i - 1] * 0.5 + 1;
}
NOINLINE double dot(const double *x, const double *y, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[i] * y[i];
  return s;
}
NOINLINE void matvec(double *y, const double *m, const double *x, long rows, long columns) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < columns; j++)
      y[i] += m[i * columns + j] * x[j];
}
NOINLINE void transpose(long rows, long columns) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < columns; j++)
      transposed[j][i] = matrix[i][j];
}
NOINLINE void stencil(long n0, long n1, long n2) {
  for (long t = 0; t < 3; t++)
    for (long i = 1; i < n0 - 1; i++)
      for (long j = 1; j < n1 - 1; j++)
        for (long k = 1; k < n2 - 1; k++)
          cube2[i][j][k] = cube[i - 1][j][k] + cube[i + 1][j][k] + cube[i][j - 1][k] + cube[i][j + 1][k] +
                           cube[i][j][k - 1] * 0.25 + cube2[i][j][k] * 0.125;
}
NOINLINE void down(int *p, const int *q, long n) {
  for (long i = n - 1; i >= 0; i--)
    p[i] = q[n - 1 - i] + (int)i;
}
NOINLINE void downwards_pointer(int *first, int *last) {
  while (last != first)
    *--last ^= 0x55;
}
NOINLINE void narrow(unsigned char *p, unsigned char n) {
  unsigned char i = 0;
  do {
    p[i] += i;
    i++;
  } while (i != n); // n == 0: 256 iterations
}
NOINLINE void unsigned_wrap(int *p, unsigned first, unsigned n) {
  for (unsigned i = first; i != n; i++)
    p[i & 4095] += (int)i;
}
NOINLINE int search(const int *p, long n, int wanted) {
  for (long i = 0; i < n; i++)
    if (p[i] == wanted)
      return (int)i;
  return -1;
}
NOINLINE long many_exits(const int *p, long n) {
  long total = 0;
  for (long i = 0; i < n; i++) {
    if (p[i] == -1)
      return -total;
    if (p[i] == -2)
      goto bad;
    if (p[i] == -3)
      break;
    total += p[i];
  }
  return total;
bad:
  return total * 3;
}
NOINLINE void switched(int *p, const int *q, long n) {
  for (long i = 0; i < n; i++)
    switch (q[i] & 7) {
    case 0: p[i] = 1; break;
    case 1: p[i] += 2;
    case 2: p[i] ^= 3; break;
    case 5: continue;
    default: p[i] = (int)i;
    }
}
NOINLINE void histogram(int *h, const int *k, long n) {
  for (long i = 0; i < n; i++)
    h[k[i]]++;
}
NOINLINE void scatter(int *to, const int *from, const int *where, long n) {
  for (long i = 0; i < n; i++)
    to[where[i]] = from[i];
}
NOINLINE double two_indices(const double *m, const int *row, const int *column, long n, long width) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += m[row[i] % 60 * width + column[i] % 70];
  return s;
}
NOINLINE double chained(const double *x, const int *p, const int *q, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[q[i]]];
  return s;
}
NOINLINE long conditional(int *p, const int *q, long n) {
  long taken = 0;
  for (long i = 0; i < n; i++)
    if (q[i] & 1) {
      p[q[i] & 1023] += 1;
      taken++;
    }
  return taken;
}
NOINLINE void triangular(double m[60][70], long n) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < i; j++)
      m[i][j] = m[j][i] + 1;
}
NOINLINE void strided(double *p, long n, long step, long repeat) {
  for (long r = 0; r < repeat; r++)
    for (long i = 0; i < n; i += step)
      p[i] += (double)(i + r);
}
NOINLINE void met(double *p, long rows, long columns, long first, long end, long step) {
  for (long i = first; i != end; i += step)
    for (long j = 0; j < columns; j++)
      p[i * columns + j] = p[(i - step) * columns + j] * 0.5 + (double)j;
}
NOINLINE void swept(double *p, int rows, int columns, int di, int dj) {
  for (int i = di > 0 ? 1 : rows - 2; di > 0 ? i < rows : i >= 0; i += di)
    for (int j = dj > 0 ? 1 : columns - 2; dj > 0 ? j < columns : j >= 0; j += dj)
      p[i * columns + j] += p[(i - di) * columns + j - dj] * 0.25;
}
NOINLINE void butterflies(double *x, unsigned long n, unsigned long half) {
  for (unsigned long i = 0; i < n; i += 2 * half)
    for (unsigned long j = i; j < i + half; j++) {
      double sum = x[j] + x[j + half];
      x[j + half] = x[j] - x[j + half];
      x[j] = sum;
    }
}
NOINLINE void reloaded(int *p, long *n) {
  for (long i = 0; i < *n; i++)
    p[i] += 7;
}
NOINLINE void rows(double **p, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      p[i][j] += (double)(i * j);
}
NOINLINE void complex_product(double complex *p, const double complex *q, long n) {
  for (long i = 0; i < n; i++)
    p[i] = p[i] * q[i] + 1.0 * I;
}
NOINLINE void two_in_one(double *p, double *q, long n, long m) {
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < m; j++)
      p[j] += q[i];
    for (long j = 0; j < m; j++)
      q[j] -= p[j] * 0.001;
  }
}
NOINLINE int compare(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }
NOINLINE void calls(int *p, long n) {
  for (long i = 0; i + 50 < n; i += 50) {
    qsort(p + i, 50, sizeof *p, compare);
    for (long j = 0; j < 50; j++)
      p[i + j] -= (int)j;
  }
}
NOINLINE void simd(float *p, const float *q, int n) {
#pragma omp simd
  for (int i = 0; i < n; i++)
    p[i] = q[i] * 2.0f + p[i];
}
NOINLINE void hinted_loop(float *p, const float *q, int n) {
#pragma clang loop vectorize_width(4) interleave_count(2)
  for (int i = 0; i < n; i++)
    p[i] += q[i];
}
typedef float vector __attribute__((vector_size(16)));
NOINLINE void vectors(vector *p, const vector *q, long n) {
  for (long i = 0; i < n; i++)
    p[i] = p[i] * q[i] + (vector){1, 2, 3, 4};
}
struct record { int id; char text[20]; double value; };
NOINLINE void records(struct record *r, const int *order, long n) {
  for (long i = 0; i < n; i++) {
    r[order[i]].id += (int)i;
    r[order[i]].value *= 1.25;
  }
}
NOINLINE int recurrence(int *p, long n) {
  int x = 1, y = 1, z = 0;
  for (long i = 0; i < n; i++) {
    z = x + y;
    x = y;
    y = z & 0xffff;
    p[i] = z;
  }
  return x * 3 + y * 5 + z;
}
NOINLINE void forever(int *p, long n) {
  long i = 0;
  for (;;) {
    p[i % n] += 1;
    if (++i > 3 * n && p[i % n] > 3)
      break;
  }
}
NOINLINE void deep(char *p, int n0, int n1, int n2, int n3) {
  for (int i = 0; i < n0; i++)
    for (int j = 0; j < n1; j++)
      for (int k = 0; k < n2; k++)
        for (int l = 0; l < n3; l++)
          p[((i * n1 + j) * n2 + k) * n3 + l] += (char)(i ^ j ^ k ^ l);
}
NOINLINE void memory(char (*p)[200], char (*q)[200], long n) {
  for (long i = 0; i < n; i++) {
    memcpy(p[i], q[n - 1 - i], 150);
    memset(p[i] + 150, (int)i, 50);
  }
}
NOINLINE void copied_rows(char *p, const char *q, long n, long m, const int *length) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      p[i * 200 + j] = q[(n - 1 - i) * 200 + j];
  for (long i = 0; i < n; i++)
    memset(p + i * 200 + m, (int)i, length[i] % (200 - m));
}

int main(void) {
  for (int i = 0; i < N; i++) {
    a[i] = i * 0.37;
    b[i] = 1000.0 / (i + 1);
    c[i] = i % 17;
    key[i] = (int)((unsigned)i * 2654435761u >> 16);
    rank_[i] = (i * 7919) % N;
  }
  for (int i = 0; i < 60; i++)
    for (int j = 0; j < 70; j++)
      matrix[i][j] = i * 70 + j;
  for (int i = 0; i < 12 * 70 * 33; i++)
    ((double *)cube)[i] = (i * 31) % 97;
  for (long n = 0; n < 200; n += 63)
    saxpy(a, b, 1.5, n);
  saxpy(a, b, 0.5, N);
  SHOW("saxpy", a);
  aliased(a, b, N);
  aliased(a, a, N);
  SHOW("aliased", a);
  printf("dot %.17g %.17g\n", dot(a, b, N), dot(a, b, 65));
  matvec(c, &matrix[0][0], b, 60, 70);
  matvec(c, &matrix[0][0], b, 0, 70);
  matvec(c, &matrix[0][0], b, 60, 0);
  SHOW("matvec", c);
  transpose(60, 70);
  SHOW("transpose", transposed);
  stencil(12, 70, 33);
  SHOW("stencil", cube2);
  down(out, key, N);
  down(out, key, 0);
  SHOW("down", out);
  downwards_pointer(out, out + N);
  SHOW("downwards", out);
  narrow((unsigned char *)out, 0);
  narrow((unsigned char *)out, 200);
  SHOW("narrow", out);
  unsigned_wrap(out, 4294967000u, 500);
  SHOW("wrap", out);
  printf("search %d %d\n", search(key, N, key[4321]), search(key, N, -5));
  printf("exits %ld\n", many_exits(key, N));
  key[3000] = -2;
  printf("exits %ld\n", many_exits(key, N));
  key[1000] = -3;
  printf("exits %ld\n", many_exits(key, N));
  key[500] = -1;
  printf("exits %ld\n", many_exits(key, N));
  key[500] = key[1000] = key[3000] = 5;
  switched(out, key, N);
  SHOW("switch", out);
  histogram(count, key, N);
  SHOW("histogram", count);
  scatter(out, key, rank_, N);
  SHOW("scatter", out);
  printf("two %.17g\n", two_indices(&matrix[0][0], key, rank_, N, 70));
  printf("chained %.17g\n", chained(a, rank_, rank_, N));
  printf("conditional %ld\n", conditional(out, key, N));
  SHOW("conditional", out);
  triangular(matrix, 60);
  SHOW("triangular", matrix);
  strided(a, N, 1, 2);
  strided(a, N, 3, 4);
  strided(a, N, 1000, 1);
  SHOW("strided", a);
  met(a, 50, 100, 1, 50, 1);
  met(a, 50, 100, 48, -1, -1);
  met(a, 50, 100, 3, 48, 3);
  met(a, 50, 100, 7, 7, 0);
  SHOW("met", a);
  for (int k = 0; k < 4; k++)
    swept(a, 50, 100, k & 1 ? 1 : -1, k & 2 ? 1 : -1);
  SHOW("swept", a);
  for (unsigned long half = 1; half < 4096; half *= 2)
    butterflies(a, 4096, half);
  SHOW("butterflies", a);
  long n = N;
  reloaded(out, &n);
  SHOW("reloaded", out);
  double *pointers[40];
  for (int i = 0; i < 40; i++)
    pointers[i] = a + i * 100;
  rows(pointers, 40, 100);
  SHOW("rows", a);
  complex_product((double complex *)b, (double complex *)c, N / 2);
  SHOW("complex", b);
  two_in_one(a, c, 40, 90);
  SHOW("two_in_one", a);
  calls(key, N);
  SHOW("calls", key);
  simd((float *)a, (float *)cube, 2000);
  hinted_loop((float *)a, (float *)cube, 1999);
  vectors((vector *)cube2, (vector *)cube, 1500);
  SHOW("vectors", cube2);
  struct record *r = calloc(N, sizeof *r);
  for (int i = 0; i < N; i++)
    r[i].value = i;
  records(r, rank_, N);
  printf("records %d %.17g\n", r[77].id, r[78].value);
  free(r);
  printf("recurrence %d\n", recurrence(out, N));
  forever(out, 100);
  SHOW("forever", out);
  deep((char *)cube, 3, 5, 7, 300);
  SHOW("deep", cube);
  memory((char(*)[200])a, (char(*)[200])cube, 150);
  copied_rows((char *)b, (const char *)cube, 150, 120, key);
  SHOW("memory", a);
  SHOW("copied rows", b);
  return 0;
}
