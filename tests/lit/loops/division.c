// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trip counts that are quotients: the division may trap, so that it cannot be repeated before an outer
// loop; the program's own quotient is used, and the chain goes on.
// REQUIRES: llvm-19
// RUN: %nests "%s" | %FileCheck "%s"

// CHECK-LABEL: nests of 'sweeps'
// CHECK-NEXT: nest 0: loops=3 ticked=2 strips=1
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %times)
// CHECK-NEXT: loop 1: {{.*}} backedges=(-1 + (1 umax %div))
// CHECK-NEXT: loop 2: {{.*}} backedges=(-1 + (1 umax %columns))
unsigned long sweeps(const unsigned *a, unsigned long bytes, unsigned long columns, unsigned long times) {
  unsigned long rows = bytes / columns, sum = 0;
  for (unsigned long t = 0; t < times; t++)
    for (unsigned long i = 0; i < rows; i++)
      for (unsigned long j = 0; j < columns; j++)
        sum = sum * 3 + a[i * columns + j];
  return sum;
}

// Negative twin: the divisor changes in the outer loop, and with it the inner trip count. Each time is a sweep
// over the same data: no row of a larger nest, but a nest of its own.
// CHECK-LABEL: nests of 'varies'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=4
// CHECK-NOT: loop 1:
// CHECK: group 0: reads element=4 {{.*}} name=a
unsigned long varies(const unsigned *a, unsigned long bytes, const unsigned long *divisor, unsigned long times) {
  unsigned long sum = 0;
  for (unsigned long t = 0; t < times; t++)
    for (unsigned long i = 0; i < bytes / divisor[t]; i++)
      sum = sum * 3 + a[i];
  return sum;
}

// The bound of the loop is there anyway: nothing need be divided or multiplied again.
// CHECK-LABEL: nests of 'whole_rows'
// CHECK: backedges=(-1 + %mul)
void whole_rows(double *a, unsigned long n, unsigned long width) {
  unsigned long whole = width ? n / width * width : 0;
  for (unsigned long i = 0; i < whole; i++)
    a[i] = 1.0;
}
