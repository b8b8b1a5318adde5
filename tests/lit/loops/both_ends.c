// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that scalar evolution does not count, as it must think of counters that wrap around: two that come towards each
// other, and one that goes down until it does wrap.
// RUN: %nests "%s" | %FileCheck "%s"

// CHECK-LABEL: nests of 'reverse'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=0
// CHECK-NEXT: loop 0: {{.*}} backedges=((1 + (0 smax (-3 + %n)))<nuw> /u 2)
// CHECK-NEXT: group 0: reads writes element=4 [0, 4) base=%a strides={4}
// CHECK-NEXT: group 1: reads writes element=4 [0, 4) base=(-4 + (4 * %n) + %a) strides={-4}
void reverse(unsigned *a, unsigned long n) {
  for (unsigned long i = 0, j = n - 1; i < j; i++, j--) {
    unsigned t = a[i];
    a[i] = a[j];
    a[j] = t + 1;
  }
}

// Both go up, and one catches up with the other, by two of three.
// CHECK-LABEL: nests of 'overtakes'
// CHECK: loop 0: {{.*}} backedges=((1 + (0 smax (-1 + (-1 * %i) + %j)))<nuw> /u 2)
// CHECK: group 0: {{.*}} base=((8 * %j) + %b) strides={8}
// CHECK: group 1: {{.*}} base=((8 * %i) + %a) strides={24}
void overtakes(long *a, long *b, long i, long j) {
  for (; i <= j; i += 3, j += 1) a[i] += b[j];
}

// Negative twins: they stay as far apart as they are, or go apart.
// CHECK-LABEL: nests of 'beside'
// CHECK-NEXT: refused UnknownTripCount
void beside(long *a, long *b, long i, long j) {
  for (; i < j; i++, j++) {
    a[i] += b[j];
    if (!a[i]) break;
  }
}
// CHECK-LABEL: nests of 'apart'
// CHECK-NEXT: refused UnknownTripCount
void apart(long *a, long *b, long i, long j) {
  for (; i < j; i--, j++) a[i] += b[j];
}

// Below zero an unsigned counter is above its bound.
// CHECK-LABEL: nests of 'down'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=0
// CHECK-NEXT: loop 0: {{.*}} backedges=((1 + (0 smax (-2 + %n)))<nuw> /u 2)
// CHECK-NEXT: group 0: reads writes element=4 [0, 4) base=(-4 + (4 * %n) + %a) strides={-8}
void down(unsigned *a, unsigned long n) {
  for (unsigned long i = n - 1; i < n; i -= 2) a[i] ^= 5;
}

// Negative twin: a signed one never is.
// CHECK-LABEL: nests of 'for_ever'
// CHECK-NEXT: refused UnknownTripCount
void for_ever(unsigned *a, long n) {
  for (long i = n - 1; i < n; i -= 2) {
    a[i] ^= 5;
    if (a[i] == 7) break;
  }
}
