// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where there are planes, rows are short: they are steps without strips, even where a nest goes over one plane only.
// RUN: %nests "%s" | %FileCheck "%s"

// The ends of all lines, the first and last line of all planes, the first and last plane.
// CHECK-LABEL: nests of 'wrap'
// CHECK: nest 0: loops=2 ticked=0 strips=0
// CHECK: nest 1: loops=2 ticked=0 strips=0
// CHECK: nest 2: loops=2 ticked=0 strips=0
void wrap(long l3, long l2, long l1, double u[l3][l2][l1]) {
  for (long k = 1; k < l3 - 1; k++)
    for (long j = 1; j < l2 - 1; j++)
      u[k][j][0] = u[k][j][l1 - 2];
  for (long k = 1; k < l3 - 1; k++)
    for (long i = 0; i < l1; i++)
      u[k][0][i] = u[k][l2 - 2][i];
  for (long j = 0; j < l2; j++)
    for (long i = 0; i < l1; i++)
      u[0][j][i] = u[l3 - 2][j][i];
}

// Negative twin: rows of a matrix may be longer than memory.
// CHECK-LABEL: nests of 'rows'
// CHECK: nest 0: loops=2 ticked=1 strips=1
// CHECK: nest 1: loops=2 ticked=1 strips=1
void rows(long n, long m, double u[n][m], double v[m]) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      u[i][j] = v[j];
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      u[i][j] += u[0][j];
}

// What would not end before the machine does is a case that does not arise.
// CHECK-LABEL: nests of 'without_end'
// CHECK-NOT: nest {{[0-9]}}
// CHECK-LABEL: nests of 'long_way'
// CHECK: nest 0: loops=1
void without_end(double *u, unsigned long n, unsigned long m) {
  if (m == 0)
    for (unsigned long i = 1; i != m - 1; i++)
      u[i * n] = 0.0;
}
void long_way(double *u, unsigned long n, unsigned long m) {
  if (m != 0)
    for (unsigned long i = 1; i != m + 1; i++)
      u[i * n] = 0.0;
}

// As are rows that are known to be next to nothing, while their length is a symbol.
// CHECK-LABEL: nests of 'short_rows'
// CHECK-NOT: nest {{[0-9]}}
// CHECK-LABEL: nests of 'not_so_short_rows'
// CHECK: nest 0: loops=1
void short_rows(double *u, unsigned long n, unsigned long m) {
  if (m < 3)
    for (unsigned long i = 0; i < n; i++)
      u[i * m] = 0.0;
}
void not_so_short_rows(double *u, unsigned long n, unsigned long m) {
  if (m < 30)
    for (unsigned long i = 0; i < n; i++)
      u[i * m] = 0.0;
}
