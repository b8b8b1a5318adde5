// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime closes nests by itself whose last loop it can count the ends of. tests/lit/run/ has all nests closed.
// RUN: %pagecast-clang -O2 --target=x86_64-linux-gnu -S -emit-llvm %s -o - | %FileCheck %s
#include <stddef.h>

// CHECK-LABEL: define {{.*}}@exact(
// CHECK: call {{.*}}@__pagecast_next(
// CHECK-NOT: call {{.*}}@__pagecast_exit(
// CHECK: ret void
void exact(double *restrict c, const double *restrict a, size_t rows, size_t cols) {
  if (cols == 0)
    return;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      c[i] += a[i * cols + j];
}

// Negative twin: some iterations do not come to the inner loop.
// CHECK-LABEL: define {{.*}}@skipping(
// CHECK: call {{.*}}@__pagecast_next(
// CHECK: call {{.*}}@__pagecast_exit(
// CHECK: ret void
void skipping(double *restrict c, const double *restrict a, size_t rows, size_t cols) {
  if (cols == 0)
    return;
  for (size_t i = 0; i < rows; i++)
    if (c[i] > 0)
      for (size_t j = 0; j < cols; j++)
        c[i] += a[i * cols + j];
}

// Negative twin: the outer loop may end early.
// CHECK-LABEL: define {{.*}}@leaving(
// CHECK: call {{.*}}@__pagecast_next(
// CHECK: call {{.*}}@__pagecast_exit(
// CHECK: ret void
void leaving(double *restrict c, const double *restrict a, size_t rows, size_t cols) {
  if (cols == 0)
    return;
  for (size_t i = 0; i < rows; i++) {
    if (c[i] > 1000)
      break;
    for (size_t j = 0; j < cols; j++)
      c[i] += a[i * cols + j];
  }
}

// One loop always is, at its end.
// CHECK-LABEL: define {{.*}}@single(
// CHECK: call {{.*}}@__pagecast_next(
// CHECK-NOT: call {{.*}}@__pagecast_exit(
// CHECK: ret void
void single(double *a, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] *= 2;
}
