// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop of a slice may run at a later stage than the addresses in it need: they are touched at the loop's.
// RUN: %pagecast-clang -O1 "%s" %fake-runtime -o "%t1"
// RUN: env FAKE_PRINT=1 "%t1" 2>&1 | %FileCheck "%s"

#include <stdlib.h>
#define NOINLINE __attribute__((noinline))

// How long a row is, a chain of two loads says: stage 2. No load is in the address.
// CHECK: enter late
// CHECK: touch 1 +8
// CHECK-NEXT: touch 2 +0
// CHECK-NEXT: touch 2 +80
// CHECK-NEXT: touch 1 +4
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: touch 2 +8
// CHECK-NEXT: exit
NOINLINE void late(double *restrict a, const int *restrict length, const int *restrict which, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < length[which[i]]; j++)
      a[j * j * m + i] += 1;
}

int main(void) {
  double *a = calloc(1000, sizeof *a);
  static int which[] = {2, 1, 0}, length[] = {0, 1, 2};
  late(a, length, which, 3, 10);
  return a[0] == 1 && a[10] == 1 && a[1] == 1 ? 0 : 1;
}
