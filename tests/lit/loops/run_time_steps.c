// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose counter moves by what only the program knows: the step is taken to go towards the bound.
// RUN: %nests "%s" | %FileCheck "%s"

// Sweeps in all directions: the counter ends where it meets its bound, on either side of where it begins.
// CHECK-LABEL: nests of 'meets'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1
// CHECK-NEXT: loop 0: {{.*}} backedges=((-1 + (1 umax ((-1 * %d) smax %d)) + (0 smax ((-1 * (%b + %d)) + %e) smax ((-1 * %e) + %b + %d))) /u (1 umax ((-1 * %d) smax %d)))
// CHECK-NEXT: loop 1: {{.*}} backedges=(-1 + %n)
// CHECK: group 0: reads writes element=8 [0, 8) base=((8 * %n * %b) + %a) strides={(8 * %n * %d), 8}
void meets(double *a, long n, long b, long e, long d) {
  for (long i = b; i != e; i += d)
    for (long j = 0; j < n; j++) a[i * n + j] += 1;
}

// One of two tests, by which way it goes.
// CHECK-LABEL: nests of 'either'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1
// CHECK-NEXT: loop 0: {{.*}} backedges=(((zext i1 %cmp to i64) * {{.*}}
// CHECK: group 0: reads writes element=8 [0, 8) base=((8 * %n * %cond) + %a) strides={(8 * %n * %d), 8}
void either(double *a, long n, long d) {
  for (long i = d > 0 ? 0 : n - 1; d > 0 ? i < n : i >= 0; i += d)
    for (long j = 0; j < n; j++) a[i * n + j] += 1;
}

// Butterflies of any span, in unsigned counters, which may wrap around as far as scalar evolution knows.
// CHECK-LABEL: nests of 'butterflies'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1
// CHECK-NEXT: loop 0: {{.*}} backedges=((-1 + (1 umax (2 * %h)) + (0 smax ((-2 * %h) + %n))) /u (1 umax (2 * %h)))
// CHECK: group 0: {{.*}} strides={(16 * %h), 8}
// CHECK: group 1: {{.*}} strides={(16 * %h), 8}
void butterflies(double *x, unsigned long n, unsigned long h) {
  for (unsigned long i = 0; i < n; i += 2 * h)
    for (unsigned long j = i; j < i + h; j++) {
      double a = x[j], b = x[j + h];
      x[j] = a + b;
      x[j + h] = a - b;
    }
}

// Negative twins: which of the two tests it is changes, or the step does.
// CHECK-LABEL: nests of 'changes'
// CHECK-NEXT: refused UnknownTripCount
void changes(double *a, long n, long d, const long *up) {
  for (long i = 0; up[i] ? i < n : i >= 0; i += d) a[i] += 1;
}
// CHECK-LABEL: nests of 'faster'
// CHECK-NEXT: refused UnknownTripCount
void faster(double *a, unsigned long n, unsigned long d) {
  for (unsigned long i = 0; i < n; i += d, d += 3) a[i] += 1;
}
// Negative twin of overwriting: the rows may be some of those in between.
// CHECK-LABEL: nests of 'rows'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'all_rows'
// CHECK: overwrites
void rows(double *a, long n, long b, long e, long d) {
  for (long i = b; i != e; i += d)
    for (long j = 0; j < n; j++) a[i * n + j] = 1;
}
void all_rows(double *a, long n, long b, long e) {
  for (long i = b; i < e; i++)
    for (long j = 0; j < n; j++) a[i * n + j] = 1;
}
