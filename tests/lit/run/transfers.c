// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memcpy, memmove and memset in strips do what they do in one piece, whatever overlaps and however short.
// RUN: %differential "%s" "%t"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define NOINLINE __attribute__((noinline))

static unsigned char a[30000], b[30000];

static void show(const char *name) {
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < sizeof a; i++)
    h = ((h ^ a[i]) * 1099511628211u ^ b[i]) * 1099511628211u;
  printf("%s %016lx\n", name, (unsigned long)h);
}
static void fresh(void) {
  for (size_t i = 0; i < sizeof a; i++) {
    a[i] = (unsigned char)(i * 7 + i / 251);
    b[i] = (unsigned char)(i * 13 + i / 509);
  }
}

NOINLINE void set(unsigned char *p, int value, size_t n) { memset(p, value, n); }
NOINLINE void copy(unsigned char *p, const unsigned char *q, size_t n) { memcpy(p, q, n); }
NOINLINE void *move(unsigned char *p, const unsigned char *q, size_t n) { return memmove(p, q, n); }
NOINLINE void rows(unsigned char *p, const unsigned char *q, long m, size_t n) {
  for (long r = 0; r < m; r++)
    memcpy(p + r * n, q + (m - 1 - r) * n, n);
}
NOINLINE void moved_rows(unsigned char *p, const unsigned char *q, long m, size_t n, size_t pitch) {
  for (long r = 0; r < m; r++)
    memmove(p + r * pitch, q + r * pitch, n);
}
NOINLINE void moved_rows_backwards(unsigned char *p, const unsigned char *q, long m, size_t n) {
  for (long r = 0; r < m; r++)
    memmove(p + r * n, q + (m - 1 - r) * n, n);
}
NOINLINE long strings(unsigned char *p, const unsigned char *q, const int *length, long m) {
  long at = 0;
  for (long r = 0; r < m; r++) {
    memcpy(p + at, q + at, length[r]);
    at += length[r];
  }
  return at;
}
NOINLINE void clear_columns(unsigned char *p, long m, long pitch, long columns) {
  for (long r = 0; r < m; r++)
    for (long c = 0; c < columns; c++)
      p[r * pitch + c] = 0;
}
NOINLINE long both(unsigned char *p, unsigned char *q, long m, size_t n) {
  long sum = 0;
  for (long r = 0; r < m; r++) {
    memset(p + r * n, (int)r, n);
    sum += q[r * n];
    memcpy(q + r * n, p, n);
    if (q[r] == 77)
      break;
  }
  return sum;
}

int main(void) {
  const size_t lengths[] = {0, 1, 7, 8, 4095, 10000, 20000};
  for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
    const size_t n = lengths[l];
    fresh();
    set(a + 3, 200 + (int)l, n);
    show("set");
    copy(a + 5, b + 11, n);
    show("copy");
    copy(a, a, n);
    for (size_t apart = 0; apart < 10000; apart = apart * 3 + 1) {
      if (move(a + apart, a, n) != a + apart)
        return 1;
      show("move up");
      move(a, a + apart, n);
      show("move down");
    }
    rows(a, b, 3, n / 3);
    show("rows");
    moved_rows(a, a + 100, 3, n / 3, n / 3 + 17);
    moved_rows(a + 100, a, 3, n / 3, n / 3 + 17);
    show("moved rows");
    moved_rows_backwards(a + 50, a, 3, n / 3);
    moved_rows_backwards(a, a + 50, 4, n / 4);
    show("moved rows backwards");
    clear_columns(b, 7, 3000, (long)n / 10);
    show("columns");
    printf("%ld\n", both(a, b, 9, n / 10));
    show("both");
  }
  fresh();
  int length[100];
  for (int i = 0; i < 100; i++)
    length[i] = i * 37 % 101 * (i % 3);
  printf("%ld\n", strings(a, b, length, 100));
  show("strings");
}
