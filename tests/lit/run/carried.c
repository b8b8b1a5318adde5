// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices hand on from iteration to iteration what the program does, through parts of a nest and rows.
// RUN: %pagecast-clang -O1 "%s" %fake-runtime -o "%t1"
// RUN: env FAKE_PRINT=1 "%t1" 2>&1 | %FileCheck "%s"
// RUN: %pagecast-clang -O3 -march=native "%s" %fake-runtime -o "%t3"
// RUN: env FAKE_PRINT=1 "%t3" 2>&1 | %FileCheck "%s"
// RUN: %differential "%s" "%t.d"

#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))

// 3, 7, 15, 31, 63, 127, 255 and so on.
// CHECK: enter generator
// CHECK: touch 0 +12
// CHECK-NEXT: touch 0 +28
// CHECK-NEXT: touch 0 +60
// CHECK-NEXT: touch 0 +124
// CHECK-NEXT: touch 0 +252
// CHECK-NEXT: touch 0 +508
// CHECK-NEXT: touch 0 +1020
// CHECK-NEXT: exit
NOINLINE unsigned generator(int *count, unsigned x, long n) {
  for (long i = 0; i < n; i++) {
    x = (x << 1 ^ 1) & 1023;
    count[x]++;
  }
  return x;
}

// Rows begin anew: 1, 6, 25 twice, with what is loaded.
// CHECK: enter rows
// CHECK: touch 1 +4
// CHECK-NEXT: touch 1 +24
// CHECK-NEXT: touch 1 +100
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: touch 1 +4
// CHECK-NEXT: touch 1 +4
// CHECK-NEXT: exit
NOINLINE void rows(int *restrict count, const int *restrict value, long m, long n) {
  for (long j = 0; j < m; j++) {
    unsigned hash = 0;
    for (long i = 0; i < n; i++) {
      hash = (hash << 2 ^ (unsigned)value[j * n + i]) & 1023;
      count[hash]++;
    }
  }
}

// One generator for all rows: powers of 3 modulo 1024, of which there are 256, each once.
// CHECK: enter goes_on
// CHECK: touch 0 +12{{$}}
// CHECK-NEXT: touch 0 +36
// CHECK-NEXT: touch 0 +108
// CHECK-NOT: touch 0 +12{{$}}
// CHECK: exit goes_on
NOINLINE unsigned goes_on(int *count, unsigned x, long m) {
  for (long j = 0; j < m; j++)
#pragma clang loop unroll(disable)
    for (long i = 0; i < 50; i++) {
      x = x * 3 & 1023;
      count[x]++;
    }
  return x;
}

// A state in an object that bytes might be stored to.
// CHECK: enter object
// CHECK: touch 0 +6
// CHECK-NEXT: touch 0 +31
// CHECK-NEXT: touch 0 +156
// CHECK-NEXT: touch 0 +13
// CHECK-NEXT: exit
struct object {
  unsigned state;
  unsigned char *seen;
};
NOINLINE void object(struct object *o, long n) {
  for (long i = 0; i < n; i++) {
    o->state = o->state * 5 + 1;
    o->seen[o->state & 255]++;
  }
}

int main(void) {
  int *count = calloc(1024, sizeof *count);
  const int value[] = {1, 2, 1, 0, 1, 5};
  unsigned x = generator(count, 1, 7);
  rows(count, value, 2, 3);
  x += goes_on(count, 1, 5);
  struct object o = {1, calloc(256, 1)};
  object(&o, 4);
  long sum = o.seen[6] + o.seen[31] * 3 + o.state;
  for (int i = 0; i < 1024; i++)
    sum = sum * 3 + count[i];
  printf("%u %ld\n", x, sum);
  free(count);
  return 0;
}
