// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that begin with the same loop have its name in common, so that the slice of one is not taken for one around the others.
// RUN: %pagecast-clang -O2 -fno-vectorize -S -emit-llvm "%s" -o - | %FileCheck "%s"

// Forward and back, again and again. The last two fields: whether it closes itself, and the name of its outermost loop.
// CHECK: @.pagecast.nest = {{.*}}, ptr @.pagecast.cache, i32 {{[01]}}, i32 [[SOLVE:[1-9-][0-9]*]] }
// CHECK: @.pagecast.nest{{.*}}, i32 {{[01]}}, i32 [[SOLVE]] }
void solve(const double *a, double *b, long n, long m) {
  for (long r = 0; r < m; r++) {
    double *x = b + r * n;
    for (long i = 0; i < n; i++)
      for (long j = 0; j < i; j++) x[i] -= a[i * n + j] * x[j];
    for (long i = n - 1; i >= 0; i--)
      for (long j = i + 1; j < n; j++) x[i] -= a[j * n + i] * x[j];
  }
}

// One nest.
// CHECK: @.pagecast.nest{{.*}}, i32 {{[01]}}, i32 0 }
void forward(const double *a, double *b, long n, long m) {
  for (long r = 0; r < m; r++) {
    double *x = b + r * n;
    for (long i = 0; i < n; i++)
      for (long j = 0; j < i; j++) x[i] -= a[i * n + j] * x[j];
  }
}
