// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices that are computed from floating-point numbers.
// RUN: %nests "%s" | %FileCheck "%s"

#include <math.h>

// Particles in cells. What the position is multiplied by is passed by its bits.
// CHECK-LABEL: nests of 'deposit'
// CHECK: group 0: reads index element=8 {{.*}} name=x
// CHECK-NEXT: group 1: reads writes indirect element=8 [0, 16) {{.*}} indices=1 {{.*}} name=rho
// CHECK-NOT: refused
void deposit(double *restrict rho, const double *restrict x, double cells, long n) {
  for (long p = 0; p < n; p++) {
    double at = x[p] * cells;
    long cell = (long)at;
    rho[cell] += 1 - (at - cell);
    rho[cell + 1] += at - cell;
  }
}
// Negative twin: a function that slices do not have.
// CHECK-LABEL: nests of 'by_angle'
// CHECK: group 0: reads element=8 {{.*}} name=x
// CHECK-NOT: group
// CHECK: refused NonAffine
void by_angle(double *restrict rho, const double *restrict x, double cells, long n) {
  for (long p = 0; p < n; p++)
    rho[(long)(atan(x[p]) * cells)] += 1;
}

// CHECK-LABEL: nests of 'functions'
// CHECK: group 0: reads index element=4 {{.*}} name=x
// CHECK-NEXT: group 1: reads writes indirect element=4 {{.*}} indices=1 {{.*}} name=count
// CHECK-NOT: refused NonAffine
void functions(int *restrict count, const float *restrict x, float width, long n) {
  for (long i = 0; i < n; i++)
    count[lroundf(fminf(sqrtf(fabsf(floorf(x[i]) / width)), 100.f))]++;
}

// What is compared with a number is a condition as any other.
// CHECK-LABEL: nests of 'inside'
// CHECK: group 0: reads index element=4 {{.*}} name=r
// CHECK-NEXT: group 1: reads index conditional element=4 {{.*}} name=cell
// CHECK-NEXT: group 2: reads writes indirect conditional element=4 {{.*}} indices=2 {{.*}} name=count
// CHECK-NOT: refused
void inside(int *restrict count, const float *restrict r, const int *restrict cell, float most, long n) {
  for (long i = 0; i < n; i++)
    if (r[i] < most) count[cell[i]]++;
}

// A generator of numbers hands its state on as they are.
// CHECK-LABEL: nests of 'drawn'
// CHECK: group 0: reads writes indirect element=4 {{.*}} name=count
// CHECK-NOT: refused
void drawn(int *count, double state, long n) {
  for (long i = 0; i < n; i++) {
    state = state * 16807.0 - 2147483647.0 * floor(state * 16807.0 / 2147483647.0);
    count[(long)state >> 4]++;
  }
}
