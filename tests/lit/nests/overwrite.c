// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups that are certain to be stored over, and next to each kind a twin of which that cannot be said.
// RUN: %nests "%s" | %FileCheck "%s"

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
// CHECK-LABEL: nests of 'fill_part'
void update(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] += 1;
}

// A count that takes a division is as exact as others, and as good as nothing where a row ends early.
// CHECK: writes overwrites element=8 [0, 8) {{.*}}name=a
// CHECK-LABEL: nests of 'fill_until'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'copy'
void fill_part(double *a, unsigned long bytes, unsigned long parts) {
  unsigned long n = bytes / 8 / parts;
  for (unsigned long i = 0; i < n; i++)
    a[i] = (double)i;
}

void fill_until(double *a, unsigned long bytes, unsigned long parts, double last) {
  unsigned long n = bytes / 8 / parts;
  for (unsigned long i = 0; i < n; i++) {
    a[i] = (double)i;
    if ((double)i * 0.3 > last)
      break;
  }
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
// CHECK-LABEL: nests of 'stored_before'
void narrow(double *a, unsigned start, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    a[start + i] = 1.5 * i;
}

// What is loaded has just been stored, in the same iteration; b may be in the way of seeing that without this pass.
// CHECK: writes overwrites element=8 [0, 8) {{.*}}name=a
// CHECK: writes overwrites element=8 [0, 8) {{.*}}name=b
// CHECK-LABEL: nests of 'stored_behind'
// CHECK: reads writes element=8 [0, 8) {{.*}}name=a
// CHECK-LABEL: nests of 'stored_sometimes'
// CHECK: reads writes element=8 [0, 8) {{.*}}name=a
// CHECK-LABEL: nests of 'stored_around'
// CHECK: reads writes element=8 [-8, 8) {{.*}}name=a
void stored_before(double *a, double *b, long n) {
  for (long i = 0; i < n; i++) {
    a[i] = 1.5 * i;
    b[i] = 2.5 * i;
    a[i] += 3.5;
  }
}
void stored_behind(double *a, double *b, long n) {
  for (long i = 0; i < n; i++) {
    double old = a[i];
    b[i] = 2.5 * i;
    a[i] = old + 3.5;
  }
}
void stored_sometimes(double *a, double *b, long n, long k) {
  for (long i = 0; i < n; i++) {
    if (i % 3 != k)
      a[i] = 1.5 * i;
    b[i] = 2.5 * i;
    a[i] += 3.5;
  }
}
void stored_around(double *a, double *b, long n) {
  for (long i = 1; i < n; i++) {
    a[i] = 1.5 * i;
    b[i] = 2.5 * i;
    a[i] += a[i - 1];
  }
}

// One of four that have been stored, whichever it is: all calls are known. Of the other, one call is not, and the
// runtime sees to it that what is read keeps the rest from being overwritten.
// CHECK-LABEL: nests of 'one_of_four'
// CHECK: writes overwrites element=8 [-24, 8) {{.*}}name=a
// CHECK-NOT: reads
// CHECK-LABEL: nests of 'any_of_many'
// CHECK: writes overwrites element=8 [-24, 8) {{.*}}name=a
// CHECK: reads writes element=8 [0, 8) {{.*}}name=a
static __attribute__((noinline)) void one_of_four(double *a, long n, int which) {
  for (long i = 0; i < n; i++) {
    a[4 * i] = a[4 * i + 1] = a[4 * i + 2] = a[4 * i + 3] = 1.5 * i;
    a[4 * i + which + 1] += 2.5;
  }
}
static __attribute__((noinline)) void any_of_many(double *a, long n, int which) {
  for (long i = 0; i < n; i++) {
    a[4 * i] = a[4 * i + 1] = a[4 * i + 2] = a[4 * i + 3] = 1.5 * i;
    a[4 * i + which + 1] += 2.5;
  }
}
void call_both(double *a, long n, int which) {
  one_of_four(a, n, -1);
  one_of_four(a, n, 2);
  any_of_many(a, n, -1);
  any_of_many(a, n, which);
}

// In a loop of constant length inside; and one that is only known not to be longer.
// CHECK-LABEL: nests of 'sixes'
// CHECK: writes overwrites element=8 [0, 48) {{.*}}strides={48}
// CHECK-LABEL: nests of 'up_to_six'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'beside'
void sixes(double *a, long n) {
  for (long i = 0; i < n; i++)
    for (long l = 0; l < 6; l++)
      a[6 * i + l] = 1.5 * (i + l);
}
void up_to_six(double *a, long n) {
  for (long i = 0; i < n; i++)
    for (long l = 0; l < i % 6; l++)
      a[6 * i + l] = 1.5 * (i + l);
}
// Read by the nest beside, along a loop of its own: for the runtime to compare. What is certain to be read there, is not.
// CHECK: nest 0: loops=3
// CHECK: reads element=8 {{.*}}name=u
// CHECK: writes element=8 {{.*}}name=line
// CHECK: nest 1: loops=4
// CHECK: reads element=8 {{.*}}name=line
// CHECK: writes overwrites element=8 [0, 8) {{.*}}strides={(8 * %m * %l), (8 * %l), 8, 0} {{.*}}name=r
// CHECK: reads compared element=8 [0, 8) {{.*}}strides={(8 * %m * %l), (8 * %l), 0, 8} {{.*}}name=u
void beside(long n, long m, long l, double *u, double *r, double *line) {
  for (long k = 0; k < n; k++)
    for (long j = 0; j < m; j++) {
      for (long i = 0; i < l; i++)
        line[i] = 3 * u[(k * m + j) * l + i];
      for (long i = 2; i < l; i++)
        r[(k * m + j) * l + i] = line[i] - line[i - 2];
    }
}

// Negative twins: by an index, and in a loop whose end nobody knows.
// CHECK-LABEL: nests of 'gather_beside'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'search_beside'
// CHECK-NOT: overwrites
// CHECK-LABEL: nests of 'end'
void gather_beside(long n, long m, long l, double *u, double *r, double *line, const int *at) {
  for (long k = 0; k < n; k++)
    for (long j = 0; j < m; j++) {
      for (long i = 0; i < l; i++)
        line[i] = 3 * u[at[i]];
      for (long i = 2; i < l; i++)
        r[(k * m + j) * l + i] = line[i] - line[i - 2];
    }
}
void search_beside(long n, long m, long l, double *u, double *r, double *line) {
  for (long k = 0; k < n; k++)
    for (long j = 0; j < m; j++) {
      double sum = 0;
      for (long i = 0; u[(k * m + j) * l + i] > sum; i++)
        sum += u[(k * m + j) * l + i];
      for (long i = 2; i < l; i++)
        r[(k * m + j) * l + i] = line[i] - sum;
    }
}
void end(void) {}
