// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices compute with floating-point numbers what the program does.
// RUN: %pagecast-clang -O1 "%s" %fake-runtime -o "%t1" -lm
// RUN: env FAKE_PRINT=1 "%t1" 2>&1 | %FileCheck "%s"
// RUN: %pagecast-clang -O3 -march=native "%s" %fake-runtime -o "%t3" -lm
// RUN: env FAKE_PRINT=1 "%t3" 2>&1 | %FileCheck "%s"

#include <math.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))

// CHECK: enter deposit
// CHECK: touch 1 +20
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: touch 1 +396
// CHECK-NEXT: touch 1 +200
// CHECK-NEXT: exit
NOINLINE void deposit(float *restrict rho, const double *restrict x, double cells, long n) {
  for (long p = 0; p < n; p++)
    rho[(long)(x[p] * cells)] += 1;
}

// CHECK: enter rounded
// CHECK: touch 1 -4
// CHECK-NEXT: touch 1 +4
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: touch 1 +12
// CHECK-NEXT: exit
NOINLINE void rounded(float *restrict rho, const float *restrict x, long n) {
  for (long p = 0; p < n; p++)
    rho[(long)floorf(x[p])] += 1;
}

// CHECK: enter roots
// CHECK: touch 1 +8
// CHECK-NEXT: touch 1 +4
// CHECK-NEXT: touch 1 +40
// CHECK-NEXT: exit
NOINLINE void roots(int *restrict count, const double *restrict x, double most, long n) {
  for (long p = 0; p < n; p++) {
    double d = sqrt(fabs(x[p]));
    if (d < most) count[(unsigned)d]++;
  }
}

// CHECK: enter converted
// CHECK: touch 1 +4
// CHECK-NEXT: touch 1 +12
// CHECK-NEXT: touch 1 +8
// CHECK-NEXT: exit
NOINLINE void converted(int *restrict count, const int *restrict x, float share, long n) {
  for (long p = 0; p < n; p++)
    count[(int)((float)x[p] / share)]++;
}

int main(void) {
  float *rho = calloc(200, sizeof *rho);
  int *count = calloc(200, sizeof *count);
  const double x[] = {0.05, 0.001, 0.999, 0.5};
  deposit(rho, x, 100, 4);
  const float y[] = {-0.5f, 1.75f, 0.25f, 3.0f};
  rounded(rho + 8, y, 4);
  const double z[] = {-4.5, 1.0, 400.0, 100.0};
  roots(count, z, 15, 4);
  const int w[] = {3, 10, 7};
  converted(count, w, 3, 3);
  free(rho);
  free(count);
}
