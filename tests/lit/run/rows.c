// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What slices with rows, conditions and chains of loads tell: the runtime of the tests runs each slice through on
// entry, one stage after the other, and says it relative to the array (for pointers: to fake_origin).
// RUN: %pagecast-clang -O1 "%s" %fake-runtime -o "%t1"
// RUN: env FAKE_PRINT=1 "%t1" 2>&1 | %FileCheck "%s"
// RUN: %pagecast-clang -O3 -march=native "%s" %fake-runtime -o "%t3"
// RUN: env FAKE_PRINT=1 "%t3" 2>&1 | %FileCheck "%s"
// RUN: %differential "%s" "%t"

#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
char fake_origin[1 << 20];
#define AT(type, offset) ((type *)(fake_origin + (offset)))

// Rows of 2, 0 and 3 elements: the ranges first, then what the columns in them say. (The runtime of the tests
// runs a third of the iterations by themselves: here, the first row.)
// CHECK: enter csr loops=1 ticked=0 strips=1 trips 3
// CHECK: range 1 +0 stride=8 times=2
// CHECK-NEXT: range 2 +0 stride=4 times=2
// CHECK-NEXT: touch 3 +40
// CHECK-NEXT: touch 3 +0
// CHECK-NEXT: range 1 +16 stride=8 times=3
// CHECK-NEXT: range 2 +8 stride=4 times=3
// CHECK-NEXT: touch 3 +8
// CHECK-NEXT: touch 3 +800
// CHECK-NEXT: touch 3 +16
// CHECK-NEXT: exit csr steps=1
NOINLINE void csr(const double *restrict a, const int *restrict column, const int *restrict row,
                  const double *restrict x, double *restrict y, long n) {
  for (long j = 0; j < n; j++) {
    double s = 0;
    for (int k = row[j]; k < row[j + 1]; k++)
      s += a[k] * x[column[k]];
    y[j] = s;
  }
}

// CHECK: enter lower
// CHECK: range 0 +0 stride=8 times=1
// CHECK-NEXT: range 0 +800 stride=8 times=2
// CHECK-NEXT: range 0 +1600 stride=8 times=3
// CHECK-NEXT: exit
NOINLINE void lower(double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      a[i * m + j] += 1;
}

// CHECK: enter upper
// CHECK: range 0 +0 stride=8 times=3
// CHECK-NEXT: range 0 +808 stride=8 times=2
// CHECK-NEXT: range 0 +1616 stride=8 times=1
// CHECK-NEXT: exit
NOINLINE void upper(double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = i; j < n; j++)
      a[i * m + j] += 1;
}

// The last row is empty at first: j > i holds for no j.
// CHECK: enter backward
// CHECK: range 0 +816 stride=-8 times=1
// CHECK-NEXT: range 0 +16 stride=-8 times=2
// CHECK-NEXT: exit
NOINLINE void backward(double *restrict a, long n, long m) {
  for (long i = n - 1; i >= 0; i--)
    for (long j = n - 1; j > i; j--)
      a[i * m + j] += 1;
}

// CHECK: enter packed
// CHECK: range 1 +0 stride=8 times=1
// CHECK: range 1 +8 stride=8 times=2
// CHECK: range 1 +24 stride=8 times=3
// CHECK: range 1 +48 stride=8 times=4
// CHECK-NEXT: exit
NOINLINE void packed(double *restrict a, const double *restrict x, long n) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      a[i * (i + 1) / 2 + j] *= x[j];
}

// CHECK: enter ragged
// CHECK: range 2 +4096 stride=8 times=3
// CHECK-NEXT: range 2 +1024 stride=8 times=1
// CHECK-NEXT: range 2 +8192 stride=8 times=2
// CHECK-NEXT: enter ragged loops=1 ticked=0 strips=1 trips 3
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+4096 8
// CHECK-NEXT: exit
// CHECK-NEXT: enter ragged loops=1 ticked=0 strips=1 trips 1
// CHECK-NEXT: group 0 {{.*}} base=+1024 8
// CHECK-NEXT: exit
// CHECK-NEXT: enter ragged loops=1 ticked=0 strips=1 trips 2
// CHECK-NEXT: group 0 {{.*}} base=+8192 8
// CHECK-NEXT: exit
// CHECK-NEXT: exit
NOINLINE void ragged(long **p, const int *len, long n) {
  for (long i = 0; i < n; i++)
    for (int j = 0; j < len[i]; j++)
      p[i][j]++;
}

// The first loop's range, and the touches of the second one.
// CHECK: enter two_loops
// CHECK: range 1 +0 stride=8 times=2
// CHECK-NEXT: range 2 +0 stride=4 times=2
// CHECK-NEXT: touch 3 +40
// CHECK-NEXT: touch 3 +0
// CHECK-NEXT: range 1 +16 stride=8 times=3
// CHECK-NEXT: range 2 +8 stride=4 times=3
// CHECK-NEXT: touch 3 +8
// CHECK-NEXT: touch 3 +800
// CHECK-NEXT: touch 3 +16
// CHECK-NEXT: exit
NOINLINE void two_loops(const int *restrict row, const int *restrict column, double *restrict a, double *restrict x,
                        long n) {
  for (long i = 0; i < n; i++) {
    double s = 0;
    for (int k = row[i]; k < row[i + 1]; k++)
      s += a[k];
    for (int k = row[i]; k < row[i + 1]; k++)
      x[column[k]] += s;
  }
}

// Only where the flag says so.
// CHECK: enter condition
// CHECK: touch 2 +40
// CHECK-NEXT: touch 2 +8
// CHECK-NEXT: exit
NOINLINE void condition(int *restrict p, const int *restrict flag, const int *restrict index, long n) {
  for (long i = 0; i < n; i++)
    if (flag[i] > 3)
      p[index[i]]++;
}

// Rows that a condition leaves out; their bounds are garbage.
// CHECK: enter some_rows
// CHECK: range {{[0-9]}} +8 stride=8 times=2
// CHECK-NEXT: range {{[0-9]}} +32 stride=8 times=1
// CHECK-NEXT: exit
NOINLINE double some_rows(const double *restrict a, const int *restrict first, const int *restrict last,
                          const int *restrict flag, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    if (flag[i])
      for (int k = first[i]; k < last[i]; k++)
        s += a[k];
  return s;
}

// CHECK: enter merged
// CHECK: touch 2 +20
// CHECK-NEXT: touch 2 +24
// CHECK-NEXT: touch 2 +16
// CHECK-NEXT: exit
NOINLINE void merged(int *restrict p, const int *restrict a, const int *restrict b, long n) {
  for (long i = 0; i < n; i++) {
    long k;
    if (a[i] < 0)
      k = b[i];
    else
      k = a[i] * 2l;
    p[k]++;
  }
}

// Signed bytes, unsigned ones, and arithmetic modulo 2^16.
// CHECK: enter extended
// CHECK: touch 3 +1020
// CHECK-NEXT: touch 3 +1036
// CHECK-NEXT: touch 3 +262132
// CHECK-NEXT: exit
NOINLINE void extended(int *restrict p, const signed char *restrict a, const unsigned char *restrict b,
                       const short *restrict c, long n) {
  for (long i = 0; i < n; i++)
    p[a[i] * 4l + b[i] + (unsigned short)(c[i] * 3)]++;
}

// Stage 1 touches p, stage 2 x.
// CHECK: enter two
// CHECK: touch 1 +12
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: touch 2 +56
// CHECK-NEXT: touch 2 +72
// CHECK-NEXT: exit
NOINLINE double two(const double *x, const int *p, const int *q, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[q[i]]];
  return s;
}
// CHECK: enter three
// CHECK: touch 1 +4
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: touch 2 +0
// CHECK-NEXT: touch 2 +12
// CHECK-NEXT: touch 3 +72
// CHECK-NEXT: touch 3 +56
// CHECK-NEXT: exit
NOINLINE double three(const double *x, const int *p, const int *q, const int *r, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[q[r[i]]]];
  return s;
}

// Nothing is touched behind a null pointer.
// CHECK: enter follow
// CHECK: touch 1 +2056
// CHECK-NEXT: touch 2 +256
// CHECK-NEXT: touch 1 +3080
// CHECK-NEXT: exit
struct node { long key; struct node *next; };
NOINLINE long follow(struct node **roots, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    if (roots[i]) {
      struct node *next = roots[i]->next;
      if (next)
        s += next->key;
    }
  return s;
}

int main(void) {
  static int column[] = {5, 0, 1, 100, 2}, row[] = {0, 2, 2, 5};
  double *a = calloc(1000, sizeof *a), *x = calloc(1000, sizeof *x), *y = calloc(1000, sizeof *y);
  for (int i = 0; i < 1000; i++)
    a[i] = i, x[i] = 1000 - i;
  csr(a, column, row, x, y, 3);
  lower(a, 3, 100);
  upper(a, 3, 100);
  backward(a, 3, 100);
  packed(a, x, 4);
  static long *rows[] = {AT(long, 4096), AT(long, 1024), AT(long, 8192)};
  static int len[] = {3, 1, 2};
  ragged(rows, len, 3);
  two_loops(row, column, a, x, 3);
  int *p = calloc(100000, sizeof *p);
  static int flag[] = {4, 3, 7}, index[] = {10, 1 << 30, 2};
  condition(p, flag, index, 3);
  static int some[] = {1, 0, 1}, first[] = {1, 5, 4}, last[] = {3, 1 << 30, 5};
  double s = some_rows(a, first, last, some, 3);
  static int sign[] = {-1, 3, -7}, otherwise[] = {5, 0, 4};
  merged(p, sign, otherwise, 3);
  static signed char sc[] = {0, -1, -1};
  static unsigned char uc[] = {255, 200, 2};
  static short sh[] = {0, 21, 21845}; // times 3: 65535
  extended(p, sc, uc, sh, 3);
  static int q[] = {3, 0}, chain[] = {9, 0, 0, 7}, r[] = {1, 0};
  s += two(x, chain, q, 2) + three(x, chain, q, r, 2);
  struct node *nodes[] = {AT(struct node, 2048), 0, AT(struct node, 3072)};
  nodes[0]->next = AT(struct node, 256);
  nodes[0]->next->key = 5;
  s += follow(nodes, 3);
  for (int i = 0; i < 1000; i++)
    s += a[i] * i + x[i] * 3 + y[i] + p[i];
  printf("%.17g\n", s);
  return 0;
}
