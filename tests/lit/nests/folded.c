// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small inner loops of at most a constant length count as part of the loop around them.
// RUN: %nests "%s" | %FileCheck "%s"

// CHECK-LABEL: nests of 'blocks'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=200
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: group 0: reads writes element=8 [0, 40) base=%y strides={40}
// CHECK-NEXT: group 1: reads element=8 [0, 200) base=%a strides={200}
// CHECK-NEXT: group 2: reads element=8 [0, 40) base=%x strides={40}
// CHECK-NOT: {{nest|refused}}
void blocks(double (*restrict y)[5], const double (*restrict a)[5][5], const double (*restrict x)[5], long n) {
  for (long i = 0; i < n; i++)
    for (int p = 0; p < 5; p++)
      for (int q = 0; q < 5; q++)
        y[i][p] += a[i][p][q] * x[i][q];
}

// Negative twin: nobody knows how large the blocks are.
// CHECK-LABEL: nests of 'blocks_of_any_size'
// CHECK-NEXT: nest 0: loops=3
// CHECK: group 1: reads element=8 [0, 8) base=%a strides={(8 * %m * %m), (8 * %m), 8}
void blocks_of_any_size(double *restrict y, const double *restrict a, const double *restrict x, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long p = 0; p < m; p++)
      for (long q = 0; q < m; q++)
        y[i * m + p] += a[(i * m + p) * m + q] * x[i * m + q];
}

// Side by side: one nest, since what is inside has no loop left.
// CHECK-LABEL: nests of 'side_by_side'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=48
// CHECK-NEXT: loop 0
// CHECK-NEXT: group 0: reads writes element=8 [0, 48) base=%y strides={48} {{.*}} members=3
// CHECK-NEXT: group 1: reads element=8 [0, 32) base=(16 + %x) strides={48}
// CHECK-NOT: {{nest|refused}}
void side_by_side(double (*restrict y)[6], const double (*restrict x)[6], long n) {
  for (long i = 0; i < n; i++) {
    for (int p = 0; p < 6; p++)
      y[i][p] = 1;
    for (int p = 1; p < 5; p++)
      y[i][p] += x[i][p + 1];
  }
}

// Negative twin.
// CHECK-LABEL: nests of 'side_by_side_of_any_size'
// CHECK-NEXT: nest 0: loops=2
// CHECK: nest 1: loops=2
void side_by_side_of_any_size(double (*restrict y)[6], const double (*restrict x)[6], long n, long m) {
  for (long i = 0; i < n; i++) {
    for (long p = 0; p < m; p++)
      y[i][p] *= 2;
    for (long p = 1; p < m; p++)
      y[i][p] += x[i][p - 1];
  }
}

// At most 7 iterations, whatever the data say.
// CHECK-LABEL: nests of 'at_most'
// CHECK-NEXT: nest 0: loops=1 {{.*}} bytes=64
// CHECK: group 1: reads writes element=8 [0, 56) base=%y strides={64}
// CHECK-NOT: refused
void at_most(double (*restrict y)[8], const unsigned char *restrict length, long n) {
  for (long i = 0; i < n; i++)
    for (int p = 0; p < (length[i] & 7); p++)
      y[i][p] += 1;
}

// An index of the outer loop: 5 elements from there on.
// CHECK-LABEL: nests of 'gathered'
// CHECK-NEXT: nest 0: loops=1
// CHECK: group 2: reads indirect element=8 [0, 40) base=%x indices=1
// CHECK-NOT: refused
void gathered(double *restrict y, const double (*restrict x)[5], const int *restrict k, long n) {
  for (long i = 0; i < n; i++)
    for (int p = 0; p < 5; p++)
      y[i] += x[k[i]][p];
}

// Negative twins: few iterations, but each far from the last one; and too many iterations.
// CHECK-LABEL: nests of 'columns'
// CHECK-NEXT: nest 0: loops=2
// CHECK: group 0: reads writes element=8 [0, 8) base=%a strides={8, (8 * %m)}
void columns(double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long p = 0; p < 5; p++)
      a[p * m + i] += 1;
}
// CHECK-LABEL: nests of 'many'
// CHECK-NEXT: nest 0: loops=2
// CHECK: group 0: reads writes element=8 [0, 8) base=%y strides={16000, 8}
void many(double (*restrict y)[2000], long n) {
  for (long i = 0; i < n; i++)
    for (int p = 0; p < 2000; p++)
      y[i][p] += 1;
}
