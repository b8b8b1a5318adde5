// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime closes nests by itself whose last loop it can count the ends of, or whose ticks it can count. tests/lit/run/ has
// all nests closed.
// RUN: %pagecast-clang -O2 --target=x86_64-linux-gnu -S -emit-llvm "%s" -o - | %FileCheck "%s"
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
void single(double *a, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] *= 2;
}

// Ticks, one for each row.
// CHECK-LABEL: define {{.*}}@planes(
// CHECK: call {{.*}}@__pagecast_tick(i64 poison, i64 poison, ptr
// CHECK-NOT: call {{.*}}@__pagecast_exit(
// CHECK: ret void
void planes(size_t l3, size_t l2, size_t l1, double u[l3][l2][l1]) {
  if (l1 == 0 || l2 == 0)
    return;
  for (size_t k = 0; k < l3; k++)
    for (size_t j = 0; j < l2; j++)
      for (size_t i = 0; i < l1; i++)
        u[k][j][i] *= 0.5;
}

// Negative twin: some planes have no rows.
// CHECK-LABEL: define {{.*}}@somePlanes(
// CHECK: call {{.*}}@__pagecast_tick(
// CHECK: call {{.*}}@__pagecast_exit(i64 poison, i64 poison, ptr
// CHECK: ret void
void somePlanes(size_t l3, size_t l2, size_t l1, double u[l3][l2][l1], const char *used) {
  if (l1 == 0 || l2 == 0)
    return;
  for (size_t k = 0; k < l3; k++)
    if (used[k])
      for (size_t j = 0; j < l2; j++)
        for (size_t i = 0; i < l1; i++)
          u[k][j][i] *= 0.5;
}

// Negative twin: rows may be left.
// CHECK-LABEL: define {{.*}}@leavingRows(
// CHECK: call {{.*}}@__pagecast_tick(
// CHECK: call {{.*}}@__pagecast_exit(
// CHECK: ret void
void leavingRows(size_t l3, size_t l2, size_t l1, double u[l3][l2][l1]) {
  if (l1 == 0 || l2 == 0)
    return;
  for (size_t k = 0; k < l3; k++)
    for (size_t j = 0; j < l2; j++) {
      if (u[k][j][0] > 1000)
        return;
      for (size_t i = 0; i < l1; i++)
        u[k][j][i] *= 0.5;
    }
}

// Negative twin: how many planes there are may change on the way.
// CHECK-LABEL: define {{.*}}@reloaded(
// CHECK: call {{.*}}@__pagecast_tick(
// CHECK: call {{.*}}@__pagecast_exit(
// CHECK: ret void
void reloaded(const long *l3, long l2, long l1, long *u) {
  if (l1 <= 0 || l2 <= 0)
    return;
  for (long k = 0; k < *l3; k++)
    for (long j = 0; j < l2; j++)
      for (long i = 0; i < l1; i++)
        u[(k * l2 + j) * l1 + i] ^= 5;
}

// What is stored over behind the rows of a plane has not been when its last row has: the end of the nest is told.
// CHECK-LABEL: define {{.*}}@behind(
// CHECK: call {{.*}}@__pagecast_tick(
// CHECK: call {{.*}}@__pagecast_exit(
// CHECK: ret void
void behind(size_t l3, size_t l2, size_t l1, double u[restrict l3][l2][l1], double *restrict last) {
  if (l1 == 0 || l2 == 0)
    return;
  for (size_t k = 0; k < l3; k++) {
    for (size_t j = 0; j < l2; j++)
      for (size_t i = 0; i < l1; i++)
        u[k][j][i] *= 0.5;
    last[k] = 1;
  }
}
