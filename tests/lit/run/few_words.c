// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is computed from few words is right in each iteration of the loop around: trip counts, bases and strides.
// Bases are relative to fake_origin.
// REQUIRES: llvm-19
// RUN: %pagecast-clang -O2 -g "%s" %fake-runtime -o "%t"
// RUN: env FAKE_PRINT=1 FAKE_STRIP=1000 "%t" 2>&1 | %FileCheck "%s"

#define NOINLINE __attribute__((noinline))
char fake_origin[8 << 20];
#define AT(type, offset) ((type *)(fake_origin + (offset)))
NOINLINE static void other(void) { __asm__ volatile("" ::: "memory"); }

// CHECK: enter together loops=1 ticked=0 strips=1 trips 32
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+4096 64
// CHECK: enter together loops=1 ticked=0 strips=1 trips 64
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+4096 128
// CHECK: enter together loops=1 ticked=0 strips=1 trips 96
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+4096 192
NOINLINE void together(double *a, long m) {
  for (long k = 1; k <= m; k++) {
    other();
    for (long i = 0; i < 32 * k; i++) a[i * 8 * k] += 1;
  }
}

// CHECK: enter square loops=1 ticked=0 strips=1 trips 96
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+0 632
// CHECK: enter square loops=1 ticked=0 strips=1 trips 64
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+0 312
// CHECK: enter square loops=1 ticked=0 strips=1 trips 32
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+0 120
NOINLINE void square(double *a, long m) {
  for (long k = m; k >= 1; k--) {
    other();
    for (long i = 0; i < 32 * k; i++) a[i * (8 * k * k + 7)] += 1;
  }
}

// CHECK: enter ends loops=1 ticked=0 strips=1 trips 500
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+8192 8
NOINLINE void ends(double *p, long first, long last) {
  for (long i = first; i < last; i++) *p++ += 1;
}

int main(void) {
  together(AT(double, 4096), 3);
  square(AT(double, 0), 3);
  ends(AT(double, 8192), -100, 400);
  return 0;
}
