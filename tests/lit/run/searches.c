// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches that slices follow: they come to the places that the program comes to, in its order, and change nothing.
// RUN: %differential "%s" "%t"
// RUN: %pagecast-clang -O1 "%s" %fake-runtime -o "%t1"
// RUN: env FAKE_PRINT=1 "%t1" 2>&1 | %FileCheck "%s"
// RUN: %pagecast-clang -O3 -march=native "%s" %fake-runtime -o "%t3"
// RUN: env FAKE_PRINT=1 "%t3" 2>&1 | %FileCheck "%s"

#include "../Inputs/lower_bound.h"
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))

LOWER_BOUND(place_of_long, long)

// 7 is looked for at 8, 4, 2, 3, and found before 4; 31 behind the last: 8, 12, 14, 15.
// CHECK: enter sorted
// CHECK: touch 1 +64
// CHECK-NEXT: touch 1 +32
// CHECK-NEXT: touch 1 +16
// CHECK-NEXT: touch 1 +24
// CHECK-NEXT: touch 2 +16
// CHECK-NEXT: touch 1 +64
// CHECK-NEXT: touch 1 +96
// CHECK-NEXT: touch 1 +112
// CHECK-NEXT: touch 1 +120
// CHECK-NEXT: exit
NOINLINE long sorted(const long *a, const int *value, long m, const long *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++) {
    long from = place_of_long(a, m, key[i]);
    if (from < m) s += value[from];
  }
  return s;
}

struct row { long key; int next, value; };

// From 3 to 1 to 2, and from 0 to its end, which is 4; nothing in the third.
// CHECK: enter chained
// CHECK: touch 2 +48
// CHECK-NEXT: touch 2 +16
// CHECK-NEXT: touch 2 +32
// CHECK: touch 2 +0
// CHECK-NEXT: touch 2 +64
// CHECK-NOT: touch 2
// CHECK: exit
NOINLINE long chained(const struct row *row, const int *head, const long *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    for (int j = head[key[i] & 3]; j >= 0; j = row[j].next)
      if (row[j].key == key[i]) {
        s += row[j].value;
        break;
      }
  return s;
}

struct leaf { long key[3]; int child[4]; long unused; };

// One search in another: 3 is found in the root's second place, and behind the first of its child there (leaf 2, at 96).
// CHECK: enter descend
// CHECK: touch 1 +0
// CHECK-NEXT: touch 1 +8
// CHECK-NEXT: touch 2 +28
// CHECK-NEXT: touch 1 +96
// CHECK-NEXT: touch 2 +120
// CHECK-NEXT: touch 1 +0
// CHECK-NEXT: touch 2 +24
// CHECK-NEXT: touch 1 +48
// CHECK-NEXT: touch 1 +56
// CHECK-NEXT: touch 1 +64
// CHECK-NEXT: touch 2 +80
// CHECK-NEXT: exit
NOINLINE long descend(const struct leaf *leaf, const long *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++) {
    long p = 0, c;
    do {
      for (c = 0; leaf[p].key[c] < key[i]; c++)
        ;
      s = s * 3 + c;
      p = leaf[p].child[c];
    } while (p);
    s += c;
  }
  return s;
}

// It never ends where a slice is run on what will not be there any more.
NOINLINE long emptied(int *next, long n) {
  long s = 0;
  for (long i = 0; i < n; i++) {
    int j = (int)i;
    while (next[j] >= 0) {
      int to = next[j];
      next[j] = -1;
      j = to;
      s += j;
    }
  }
  return s;
}

// Two in one another, each with what it carries; what one leaves behind is where the other begins.
NOINLINE long twice(const int *up, const int *down, const long *first, long n) {
  long s = 0;
  for (long i = 0; i < n; i++) {
    long j = first[i], steps = 0;
    while (up[j] > 0) j = up[j], steps++;
    long k = j + 1;
    while (down[k] >= 0) k = down[k];
    s += steps * 100 + j * 10 + k + up[k];
  }
  return s;
}

int main(void) {
  long a[16], key[3] = {7, 31, 0};
  int value[16];
  for (int i = 0; i < 16; i++) a[i] = 2 * i, value[i] = i * i;
  a[15] = 30;
  printf("%ld\n", sorted(a, value, 16, key, 2));

  const struct row row[5] = {{8, 4, 5}, {3, 2, 6}, {7, 0, 7}, {11, 1, 8}, {12, -1, 9}};
  const int head[4] = {0, -1, -1, 3};
  const long wanted[3] = {7, 16, 2};
  printf("%ld\n", chained(row, head, wanted, 3));

  const struct leaf leaves[5] = {
      {{2, 5, 1000}, {1, 2, 3, 4}, 0}, {{-4, -2, 1000}, {0}, 0}, {{3, 4, 1000}, {0}, 0}, {{6, 8, 1000}, {0}, 0}};
  const long sought[2] = {3, -1};
  printf("%ld\n", descend(leaves, sought, 2));

  int next[64];
  for (int i = 0; i < 64; i++) next[i] = (i * 29 + 7) % 64;
  printf("%ld\n", emptied(next, 64));

  int up[8] = {1, 3, 0, 0, 2, 1, 4, 5}, down[9] = {-1, 0, 1, -1, 2, 0, 4, 3, 6};
  long first[5] = {0, 7, 6, 2, 5};
  printf("%ld\n", twice(up, down, first, 5));
}
