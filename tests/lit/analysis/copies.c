// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that are copied or cleared: loops over them are calls of memcpy and memset by the time that nests are looked for.
// What these go over is a range of bytes, in a slice.
// RUN: %nests %s | %FileCheck %s

#include <string.h>

// CHECK-LABEL: nests of 'block'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=4096
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: group 0: writes indirect conditional element=1 [0, 1) base=%b indices=0 range=1 members=1 {{.*}} name=b
// CHECK-NEXT: group 1: reads indirect conditional element=1 [0, 1) base=%a indices=0 range=1 members=1 {{.*}} name=a
// CHECK-NOT: {{group|nest|refused}}
void block(double *restrict b, const double *restrict a, long n, long m, long pitch) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      b[i * m + j] = a[i * pitch + j];
}

// Rows that are elsewhere each time, and of another length.
// CHECK-LABEL: nests of 'cleared'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=4096
// CHECK: group {{[0-9]}}: writes indirect conditional element=1 [0, 1) {{.*}} indices=2 range=1 members=1
// CHECK-NOT: {{nest|refused}}
void cleared(double *const *row, const int *length, long n) {
  for (long i = 0; i < n; i++)
    for (int j = 0; j < length[i]; j++)
      row[i][j] = 0;
}

// The strides of other references stay as they were.
// CHECK-LABEL: nests of 'beside'
// CHECK-NEXT: nest 0: loops=2 ticked=1
// CHECK: group {{[0-9]}}: reads element=8 [0, 8) base=%a strides={(8 * %m), 8}
void beside(double *restrict b, double *restrict sum, const double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      sum[i] += a[i * m + j];
  for (long i = 0; i < n; i++)
    memcpy(b + i * m, a + i * m, m * sizeof *b);
}

// Negative twins: the same row again and again; rows whose place depends on the one before.
// CHECK-LABEL: nests of 'again'
// CHECK-NEXT: nest 0: loops=1
// CHECK-NEXT: loop 0
// CHECK-NEXT: group 0: reads indirect element=1 {{.*}} name=a
// CHECK-NOT: group
void again(double *restrict b, const double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++) {
    memcpy(b, a + i * m, m * sizeof *b);
    __asm__ volatile("" ::: "memory");
  }
}
// CHECK-LABEL: nests of 'packed'
// CHECK-NOT: writes indirect
char *packed(char *restrict to, const char *const *restrict from, const unsigned char *restrict length, long n) {
  for (long i = 0; i < n; i++) {
    memcpy(to, from[i], length[i]);
    to += length[i];
  }
  return to;
}
