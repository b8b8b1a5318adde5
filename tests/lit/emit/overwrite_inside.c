// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planes behind a table of pointers: the slice of the loop over them goes through all rows, and the nest of one plane says
// which of the slice's groups it overwrites. What it adds to, it does not.
// RUN: %pagecast-clang -O2 -fno-vectorize -S -emit-llvm "%s" -o - | %FileCheck "%s"

// { flags, element, lo, hi }: writes, overwrites, group 1 of the slice (2 << 16); writes.
// CHECK-DAG: { i32 131106, i32 8, i64 0, i64 8,
// CHECK-DAG: { i32 6, i32 8, i64 0, i64 8,
void fill(double **plane, long planes, long rows, long columns) {
  for (long k = 0; k < planes; k++) {
    double *x = plane[k];
    for (long j = 0; j < rows; j++)
      for (long i = 0; i < columns; i++)
        x[j * columns + i] = (double)(j + i);
  }
}

// CHECK-DAG: { i32 3, i32 8, i64 0, i64 8,
// CHECK-DAG: { i32 7, i32 8, i64 0, i64 8,
void add(double **plane, long planes, long rows, long columns) {
  for (long k = 0; k < planes; k++) {
    double *x = plane[k];
    for (long j = 0; j < rows; j++)
      for (long i = 0; i < columns; i++)
        x[j * columns + i] += (double)(j + i);
  }
}
