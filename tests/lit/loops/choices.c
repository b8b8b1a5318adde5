// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One of two counters, by what is known before the loop: the direction of a sweep.
// RUN: %nests "%s" | %FileCheck "%s"

// CHECK-LABEL: nests of 'flipped'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1 bytes=8
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: loop 1: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: group 0: reads writes element=8 [0, 8) base={{.*}} strides={(8 * (-1 + (2 * (zext i1 %tobool.not to i64)){{[^%]*}} * %n), (-8 + (16 * (zext i1 %tobool{{[0-9]*}}.not to i64)){{[^%]*}}
// CHECK-NOT: indirect
void flipped(double *a, long n, int up, int right) {
  for (long k = 0; k < n; k++) {
    long i = up ? n - 1 - k : k;
    for (long l = 0; l < n; l++) {
      long j = right ? n - 1 - l : l;
      a[i * n + j] += 1;
    }
  }
}

// Its bounds may be a choice, too.
// CHECK-LABEL: nests of 'fixed'
// CHECK-NEXT: nest 0: loops=1
// CHECK: group 0: reads writes {{.*}} strides={8}
void fixed(double *a, const int *key, long n, int up) {
  long first = up ? n / 2 : n / 4;
  for (long k = 0; k < n; k++) a[first + k] += key[0];
}

// Negative twins: the choice is made anew in each iteration; or it is between a counter and what is loaded.
// CHECK-LABEL: nests of 'anew'
// CHECK-NEXT: nest 0:
// CHECK: indirect{{.*}}name=a
void anew(double *a, const int *up, long n) {
  for (long k = 0; k < n; k++) {
    long i = up[k] ? n - 1 - k : k;
    a[i] += 1;
  }
}
// CHECK-LABEL: nests of 'loaded'
// CHECK-NEXT: nest 0:
// CHECK: indirect{{.*}}name=a
void loaded(double *a, const long *order, long n, int ordered) {
  for (long k = 0; k < n; k++) {
    long at = order[k], i = ordered ? at : k;
    a[i] += 1;
  }
}
