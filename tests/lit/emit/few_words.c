// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program passes few words: what can be computed from those is not passed. Each function has a twin of which nothing can.
// RUN: %pagecast-clang -O2 -fno-vectorize -S -emit-llvm "%s" -o - | %FileCheck "%s"
void other(void);

// Rows and bytes go up with the loop around: the words are 32 k and a. Six fields before it: abi, loops, ticked, strips, groups, live.
// CHECK: @.pagecast.nest = {{.*}} { i32 8, i32 1, i32 0, i32 1, i32 1, i32 0, i32 2,
void together(double *a, long m) {
  for (long k = 1; k <= m; k++) {
    other();
    for (long i = 0; i < 32 * k; i++) a[i * 256 * k] += 1;
  }
}

// CHECK: @.pagecast.nest{{.*}} { i32 8, i32 1, i32 0, i32 1, i32 1, i32 0, i32 3,
void together_twin(double *a, long m, const long *bytes) {
  for (long k = 1; k <= m; k++) {
    other();
    const long step = *bytes;
    for (long i = 0; i < 32 * k; i++) a[i * step] += 1;
  }
}

// A square of the loop's number, too: 32 k and a.
// CHECK: @.pagecast.nest{{.*}} { i32 8, i32 1, i32 0, i32 1, i32 1, i32 0, i32 2,
void square(double *a, long m) {
  for (long k = 1; k <= m; k++) {
    other();
    for (long i = 0; i < 32 * k; i++) a[i * (512 * k * k + 7)] += 1;
  }
}

// Of a loop with a step that does not divide it another one is not made.
// CHECK: @.pagecast.nest{{.*}} { i32 8, i32 1, i32 0, i32 1, i32 1, i32 0, i32 3,
void square_twin(double *a, long m) {
  for (long k = 1; k <= m; k++) {
    other();
    for (long i = 0; i < 96 * k; i++) a[i * (5 * k * k + 7)] += 1;
  }
}

// The trip count is known before the nest, and neither end is needed but for it.
// CHECK: @.pagecast.nest{{.*}} { i32 8, i32 1, i32 0, i32 1, i32 1, i32 0, i32 2,
void trips(double *p, long first, long last) {
  for (long i = first; i < last; i++) *p++ += 1;
}

// CHECK: @.pagecast.nest{{.*}} { i32 8, i32 1, i32 0, i32 1, i32 1, i32 0, i32 3,
void trips_twin(double *p, long first, long last) {
  for (long i = first; i < last; i++) p[i] += 1;
}

// CHECK-LABEL: define {{.*}} @together(
// CHECK: call {{.*}} @__pagecast_enter({{.*}}, ptr {{.*}}, i64 {{[^p].*}}, i64 poison, i64 poison, i64 poison, i64 poison)
