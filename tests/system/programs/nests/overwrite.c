// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays that are stored over again and again: whole, in part, by threads, in place of one another, row by row, by plane
// through tables of pointers.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 3 << 20, ROW = 1500 };
static uint64_t a[N], b[N];
static volatile size_t n = N;

static void show(const char *what, const uint64_t *x) {
  uint64_t sum = 0;
  for (size_t i = 0; i < N; i++) sum = sum * 31 + x[i];
  printf("%s %016llx\n", what, (unsigned long long)sum);
}

__attribute__((noinline)) static void fill(uint64_t *x, size_t from, size_t to, uint64_t key) {
  for (size_t i = from; i < to; i++) x[i] = key * i + (i >> 3);
}

/// The two may be anywhere.
__attribute__((noinline)) static void derive(uint64_t *to, const uint64_t *from, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = from[i] * 3 + 1;
}

__attribute__((noinline)) static void rows(uint64_t *x, size_t count, size_t length, size_t pitch, uint64_t key) {
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < length; j++) x[i * pitch + j] = key * i + j;
}

__attribute__((noinline)) static void again(uint64_t *x, size_t count, size_t times) {
  for (size_t t = 0; t < times; t++)
    for (size_t i = 0; i < count; i++) x[i] = t * i;
}

enum { PLANES = 48, LENGTH = 4096, ROWS = N / PLANES / LENGTH };

/// The inner quadruples of each plane. The table may change on the way: what is known of the next planes is then wrong.
__attribute__((noinline)) static void quadruples(uint64_t **to, uint64_t **from, size_t rows, size_t length, int which, uint64_t key,
                                                 int swap) {
  for (size_t k = 0; k < PLANES; k++) {
    for (size_t j = 1; j < rows - 1; j++)
      for (size_t i = 1; i < length / 4 - 1; i++) {
        uint64_t *x = &to[k][j * length + 4 * i];
        x[0] = key * i, x[1] = key + j, x[2] = k + i, x[3] = key ^ i;
        x[which + 1] += from[k][j * length + 4 * i];
      }
    if (swap && k + 3 < PLANES) {
      uint64_t *other = to[k + 1];
      to[k + 1] = to[k + 3], to[k + 3] = other;
    }
  }
}

static void planes(void) {
  static uint64_t *to[PLANES], *from[PLANES];
  for (size_t k = 0; k < PLANES; k++) to[k] = a + k * ROWS * LENGTH, from[k] = b + k * ROWS * LENGTH;
  quadruples(to, from, n / PLANES / LENGTH, LENGTH, -1, 3, 0);
  show("planes", a);
  quadruples(to, from, n / PLANES / LENGTH, LENGTH, 2, 5, 0);
  show("planes again", a);
  quadruples(to, from, n / PLANES / LENGTH, LENGTH, 0, 7, 1);
  show("planes swapped", a);
  to[5] = from[6]; // a plane that is read later
  from[7] = a;     // and one that was stored before
  quadruples(to, from, n / PLANES / LENGTH, LENGTH, 1, 9, 0);
  show("planes that are read", a);
  show("and stored", b);
}

static void *share(void *which) {
  const size_t part = (size_t)which, begin = n * part / 3 + 7, end = n * (part + 1) / 3 + 7; // within pages
  fill(a, part ? begin : 0, part < 2 ? end : n, 40 + part);
  return NULL;
}

int main(void) {
  for (uint64_t key = 1; key <= 3; key++) {
    fill(a, 0, n, key);
    derive(b, a, n);
    show("copy", b);
    fill(a, 1000 * key + 3, n - 1000 * key, key * key);
    show("inside", a);
  }
  derive(a, a + 600, n - 600);
  show("behind", a);
  derive(b + 70000, b, n - 70000);
  show("ahead", b);
  rows(a, n / ROW, ROW, ROW, 5);
  show("rows", a);
  rows(b, n / ROW, ROW - 600, ROW, 7);
  show("part of rows", b);
  rows(a, 1000, 0, ROW, 9);
  show("no columns", a);
  again(b, n - 5, 3);
  show("three times", b);
  planes();
  pthread_t thread[3];
  for (size_t i = 0; i < 3; i++)
    if (pthread_create(&thread[i], NULL, share, (void *)i)) return 1;
  for (size_t i = 0; i < 3; i++) pthread_join(thread[i], NULL);
  show("threads", a);
  return 0;
}
