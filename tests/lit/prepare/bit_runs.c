// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices made of a counter by shifts and masks are affine in runs, which become a nest. That loops do what they did: run/bit_runs.c.
// RUN: %nests "%s" | %FileCheck "%s"

// CHECK-LABEL: nests of 'shifts'
// CHECK: nest 0: loops=1
// CHECK: group 0: reads writes indirect
// CHECK: nest 1: loops=2 ticked=1
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %runs)
// CHECK-NEXT: loop 1: {{.*}} backedges=(-1 + %run.length
// CHECK-NEXT: group 0: reads writes element=8 {{.*}} strides={(8 * %run.unit), 8} {{.*}} name=a
// CHECK-NEXT: group 1: reads writes element=8 {{.*}} strides={(8 * %run.unit), 8} {{.*}} name=a
// CHECK-NOT: indirect
void shifts(double *a, long n, int k) {
  for (long i = 0; i < n / 2; i++) {
    long i0 = ((i >> k) << (k + 1)) | (i & ((1L << k) - 1)), i1 = i0 | (1L << k);
    double x = a[i0], y = a[i1];
    a[i0] = x + y;
    a[i1] = x - y;
  }
}

// `half` need not be a power of two: the program tests it.
// CHECK-LABEL: nests of 'masks'
// CHECK: nest 1: loops=2 ticked=1
// CHECK: group 0: reads writes element=8 {{.*}} base=((16 * %from) + %a) strides={(16 * %run.length{{.*}}), 8}
// CHECK-NEXT: group 1: reads writes element=8 {{.*}} base=((8 * %half) + (16 * %from) + %a) strides={(16 * %run.length{{.*}}), 8}
void masks(double *a, long from, long to, long half) {
  for (long i = from; i < to; i++) {
    const long p = ((i & -half) << 1) | (i & (half - 1)), q = p | half;
    double x = a[p], y = a[q];
    a[p] = x + y;
    a[q] = x - y;
  }
}

// Twiddles beside: low bits alone, and the number of the run.
// CHECK-LABEL: nests of 'divided'
// CHECK: nest 1: loops=2 ticked=1
// CHECK-DAG: group {{.}}: reads writes element=8 {{.*}} strides={(8 * %{{.*}}), 8} {{.*}} name=a
// CHECK-DAG: group {{.}}: reads element=8 {{.*}} strides={0, 8} {{.*}} name=w
// CHECK-DAG: group {{.}}: reads element=8 {{.*}} strides={8, 0} {{.*}} name=v
void divided(double *restrict a, const double *restrict w, const double *restrict v, unsigned long n, int k) {
  const unsigned long half = 1ul << k;
  for (unsigned long i = 0; i < n; i++) a[i / half * (2 * half) + i % half] += w[i % half] * v[i / half];
}

// The loop may be left elsewhere.
// CHECK-LABEL: nests of 'left'
// CHECK-NOT: loops=2
double left(double *a, long n, int k) {
  double s = 0;
  for (long i = 0; i < n; i++) {
    double x = a[((i >> k) << (k + 1)) | (i & ((1L << k) - 1))];
    if (x < 0) break;
    s += x;
  }
  return s;
}

// Of the bits above alone nothing is made that is affine in runs and was not before; nor of bits at a place that is known.
// CHECK-LABEL: nests of 'above'
// CHECK-NOT: loops=2
void above(double *a, long n, int k) {
  for (long i = 0; i < n; i++) a[i >> k] += i;
}

// CHECK-LABEL: nests of 'known'
// CHECK-NOT: loops=2
void known(double *a, long n) {
  for (long i = 0; i < n; i++) a[((i >> 9) << 10) | (i & 511)] += i;
}

// CHECK-LABEL: nests of 'small'
// CHECK-NOT: loops=2
__attribute__((minsize)) void small(double *a, long n, int k) {
  for (long i = 0; i < n; i++) a[((i >> k) << (k + 1)) | (i & ((1L << k) - 1))] += i;
}
