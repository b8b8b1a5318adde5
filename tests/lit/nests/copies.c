// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that are copied or cleared: loops over them are calls of memcpy and memset by the time that nests are looked for.
// They are loops of bytes for the analysis, which belong to the loops around.
// RUN: %nests "%s" | %FileCheck "%s"

#include <string.h>

// CHECK-LABEL: nests of 'block'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1 bytes=1
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: loop 1: {{.*}} backedges=(-1 + (8 * %m))
// CHECK-NEXT: group 0: reads element=1 [0, 1) base=%a strides={(8 * %pitch), 1} {{.*}} name=a
// CHECK-NEXT: group 1: writes overwrites element=1 [0, 1) base=%b strides={(8 * %m), 1} {{.*}} name=b
// CHECK-NOT: {{group|nest|refused}}
void block(double *restrict b, const double *restrict a, long n, long m, long pitch) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      b[i * m + j] = a[i * pitch + j];
}

// Rows that are elsewhere each time, and of another length.
// CHECK-LABEL: nests of 'cleared'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=1
// CHECK: group 0: writes overwrites element=1 [0, 1) base=%{{.*}} strides={1}
// CHECK: nest 1: loops=1 ticked=0 strips=1 sliced
// CHECK: group {{[0-9]}}: writes indirect element=1 [0, 1) {{.*}} indices=2 range=1 members=1
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

// CHECK: nest 1: loops=2 ticked=1
// CHECK: group {{[0-9]}}: reads element=1 [0, 1) base=%a strides={(8 * %m), 1}

// The same row again and again.
// CHECK-LABEL: nests of 'again'
// CHECK: group 0: reads element=1 {{.*}} strides={(8 * %m), 1} {{.*}} name=a
// CHECK-NEXT: group 1: writes element=1 {{.*}} strides={0, 1} {{.*}} name=b
void again(double *restrict b, const double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++) {
    memcpy(b, a + i * m, m * sizeof *b);
    __asm__ volatile("" ::: "memory");
  }
}
// Negative twin: rows whose place depends on the one before.
// CHECK-LABEL: nests of 'packed'
// CHECK-NOT: writes
char *packed(char *restrict to, const char *const *restrict from, const unsigned char *restrict length, long n) {
  for (long i = 0; i < n; i++) {
    memcpy(to, from[i], length[i]);
    to += length[i];
  }
  return to;
}
