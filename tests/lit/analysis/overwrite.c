// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups that are certain to be stored over, and next to each kind a twin of which that cannot be said.
// RUN: %nests %s | %FileCheck %s

double log(double);
void other(void);

// CHECK-LABEL: nests of 'fill'
// CHECK: writes overwrites element=8 [0, 8) {{.*}}name=a
void fill(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] = (double)i;
}

// CHECK-LABEL: nests of 'update'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'copy'
void update(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] += 1;
}

// What is read has strides as well: whether the two meet is for the runtime to see.
// CHECK: reads element=8 {{.*}}name=a
// CHECK: writes overwrites element=8 {{.*}}name=b
void copy(double *b, double *a, long n) {
  for (long i = 0; i < n; i++)
    b[i] = 2 * a[i];
}

// The index decides what is read: anything, unless b is nobody else's.
// CHECK-LABEL: nests of 'gather'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'gather_restrict'
// CHECK: writes overwrites element=8 {{.*}}name=b
void gather(double *b, double *x, const int *k, long n) {
  for (long i = 0; i < n; i++)
    b[i] = x[k[i]];
}
void gather_restrict(double *restrict b, double *x, const int *k, long n) {
  for (long i = 0; i < n; i++)
    b[i] = x[k[i]];
}

// CHECK-LABEL: nests of 'conditional'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'pairs'
void conditional(double *a, long n, long k) {
  for (long i = 0; i < n; i++)
    if (i % 3 != k)
      a[i] = 1.5;
}

// Two stores fill what one leaves out.
// CHECK: writes overwrites element=8 [0, 16) {{.*}}strides={16}
void pairs(double *a, long n) {
  for (long i = 0; i < n; i++) {
    a[2 * i] = 1.5;
    a[2 * i + 1] = 2.5 * i;
  }
}

// CHECK-LABEL: nests of 'every_other'
// CHECK: writes element=8 [0, 8) {{.*}}strides={16}
void every_other(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[2 * i] = 1.5;
}

// One of the pair may be missing.
// CHECK-LABEL: nests of 'half_a_pair'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'planes'
void half_a_pair(double *a, long n, long k) {
  for (long i = 0; i < n; i++) {
    a[2 * i] = 1.5;
    if (i % 3 != k)
      a[2 * i + 1] = 2.5 * i;
  }
}

// The condition on the inner loop, m > 0, is fixed: the nest is not entered without it.
// CHECK: writes overwrites element=8 {{.*}}strides={(8 * %m), 8}
void planes(double *a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      a[i * m + j] = (double)(i + j);
}

// CHECK-LABEL: nests of 'some_planes'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'logarithms'
void some_planes(double *restrict a, const int *restrict wanted, long n, long m) {
  for (long i = 0; i < n; i++)
    if (wanted[i])
      for (long j = 0; j < m; j++)
        a[i * m + j] = (double)(i + j);
}

// A function that only computes.
// CHECK: writes overwrites element=8 {{.*}}name=b
void logarithms(double *restrict b, double *restrict a, long n) {
  for (long i = 0; i < n; i++)
    b[i] = log(a[i]);
}

// CHECK-LABEL: nests of 'calls'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'search'
void calls(double *a, long n) {
  for (long i = 0; i < n; i++) {
    a[i] = 1.5;
    other();
  }
}

// An early exit leaves the rest as it was.
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'sums'
int search(double *restrict a, double *restrict b, const int *restrict stop, long n, long m) {
  for (long i = 0; i < n; i++) {
    if (stop[i])
      return 1;
    for (long j = 0; j < m; j++)
      a[i * m + j] = 1.5 * j;
  }
  return 0;
}

// Stored outside the innermost loop.
// CHECK: writes overwrites element=8 {{.*}}strides={8, 0} {{.*}}name=c
void sums(double *restrict c, double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++) {
    double s = 0;
    for (long j = 0; j < m; j++)
      s += a[i * m + j];
    c[i] = s;
  }
}

// Others may look at any time.
// CHECK-LABEL: nests of 'watched'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'narrow'
void watched(double *restrict a, volatile long *progress, long n) {
  for (long i = 0; i < n; i++) {
    a[i] = (double)i;
    *progress = i;
  }
}

// An index of 32 bits that may wrap: the form is an assumption.
// CHECK: nest
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'end'
void narrow(double *a, unsigned start, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    a[start + i] = 1.5 * i;
}
void end(void) {}
