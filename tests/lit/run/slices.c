// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices compute the addresses that the program uses, in its order: the runtime of the tests runs
// each slice through on entry and says what it was told, relative to the target.
// RUN: %pagecast-clang -O1 "%s" %fake-runtime -o "%t1"
// RUN: env FAKE_PRINT=1 "%t1" 2>&1 | %FileCheck "%s"
// RUN: %pagecast-clang -O3 -march=native "%s" %fake-runtime -o "%t3"
// RUN: env FAKE_PRINT=1 "%t3" 2>&1 | %FileCheck "%s"

#include <stdlib.h>
#define NOINLINE __attribute__((noinline))

// CHECK: enter histogram
// CHECK: group 0 flags=9 element=4
// CHECK-NEXT: group 1 flags=7 element=4
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: touch 1 +400
// CHECK-NEXT: touch 1 +4
// CHECK-NEXT: touch 1 +396
// CHECK-NEXT: touch 1 -8
// CHECK-NEXT: exit
NOINLINE void histogram(int *restrict count, const int *restrict key, long n) {
  for (long i = 0; i < n; i++)
    count[key[i]]++;
}

// From the last key to the first.
// CHECK: enter backwards
// CHECK: touch 1 -8
// CHECK-NEXT: touch 1 +396
// CHECK-NEXT: touch 1 +4
// CHECK-NEXT: touch 1 +400
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: exit
NOINLINE void backwards(int *restrict count, const int *restrict key, int n) {
  for (int i = n - 1; i >= 0; i--)
    count[key[i]] += i;
}

// Two groups: touch 1 is `to`, touch 3 is `count`; the second index is shifted and masked.
// CHECK: enter two_groups
// CHECK: touch 1 +16
// CHECK-NEXT: touch 3 +2
// CHECK-NEXT: touch 1 +24
// CHECK-NEXT: touch 3 +6
// CHECK-NEXT: touch 1 +32
// CHECK-NEXT: touch 3 +0
// CHECK-NEXT: exit
NOINLINE void two_groups(double *restrict to, short *restrict count, const unsigned char *restrict a,
                         const unsigned short *restrict b, long n, unsigned shift) {
  for (long i = 0; i < n; i++) {
    to[a[i] + i] = 0;
    count[b[i] >> shift & 3] += 1;
  }
}

// The index belongs to the outer loop: each row is a range.
// CHECK: enter gathered
// CHECK: range 1 +240 stride=8 times=3
// CHECK-NEXT: range 1 +80 stride=8 times=3
// CHECK-NEXT: exit
NOINLINE double gathered(const double *m, const long *which, long n, long columns, long width) {
  double s = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < columns; j++)
      s += m[which[i] * width + j];
  return s;
}

// Two index loads of two dimensions.
// CHECK: enter plane
// CHECK: touch 2 +804
// CHECK-NEXT: touch 2 +1208
// CHECK-NEXT: touch 2 +1604
// CHECK-NEXT: touch 2 +2008
// CHECK-NEXT: exit
NOINLINE void plane(int *restrict m, const int *restrict row, const int *restrict column, long n, long k, int width) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < k; j++)
      m[row[j] * width + column[j] + i * 2 * width] += 1;
}

int main(void) {
  static int count[200], key[] = {0, 100, 1, 99, -2};
  histogram(count + 10, key, 5);
  backwards(count + 10, key, 5);
  static double to[100];
  static short small[8];
  static unsigned char a[] = {2, 2, 2};
  static unsigned short b[] = {1 << 4, 7 << 4 | 15, 4 << 4};
  // Dynamic memory: statics of known small size are not worth hints.
  double *heap = calloc(100, sizeof *heap);
  short *heap2 = calloc(8, sizeof *heap2);
  two_groups(heap, heap2, a, b, 3, 4);
  static const long which[] = {3, 1};
  double s = gathered(to, which, 2, 3, 10);
  int *m = calloc(2000, sizeof *m);
  static const int row[] = {2, 3}, column[] = {1, 2};
  plane(m, row, column, 2, 2, 100);
  return s == 0 && m[201] == 1 && count[8] == 5 ? 0 : 1;
}
