// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes over arrays of three times the budget: side by side, backward, down columns, by threads. With the argument
// "random": loads in no order instead; "uneven": columns of rows that are not whole pages.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kN = 3 << 20, kRow = 3 << 10 };
static uint64_t *a, *b, *c;

static uint64_t side_by_side(void) {
  uint64_t hash = 0;
  for (size_t i = 0; i < kN; i++) a[i] = i * 2654435761u;
  for (size_t i = 0; i < kN; i++) b[i] = i ^ 0x5bd1e995;
  for (size_t i = 0; i < kN; i++) c[i] = 3 * a[i] + b[i];
  for (size_t i = 0; i < kN; i++) c[i] += a[i];
  for (size_t i = 0; i < kN; i++) hash = hash * 31 + c[i];
  return hash;
}

static uint64_t backward(void) {
  uint64_t hash = 0;
  for (size_t i = kN; i-- > 0;) b[i] ^= a[i] + hash, hash = hash * 31 + b[i];
  return hash;
}

static uint64_t columns(void) {
  uint64_t hash = 0;
  for (size_t j = 0; j < 4; j++)
    for (size_t i = 0; i < kN / kRow; i++) hash = hash * 31 + a[i * kRow + 600 * j];
  return hash;
}

static void *part(void *p) {
  uint64_t sum = 0;
  for (size_t t = (size_t)p, i = t * (kN / 4); i < (t + 1) * (kN / 4); i++) c[i] ^= i, sum += b[i] * c[i];
  return (void *)sum;
}

static uint64_t threads(void) {
  pthread_t thread[4];
  uint64_t sum = 0;
  for (size_t t = 0; t < 4; t++)
    if (pthread_create(&thread[t], NULL, part, (void *)t)) exit(1);
  for (size_t t = 0; t < 4; t++) {
    void *of_one;
    pthread_join(thread[t], &of_one);
    sum += (uint64_t)of_one;
  }
  return sum;
}

static uint64_t at_random(void) {
  uint64_t hash = 0, at = 1;
  for (size_t i = 0; i < kN; i += 256) a[i] = i, b[i] = ~i, c[i] = i * i;
  for (unsigned i = 0; i < 20000; i++) {
    at = at * 6364136223846793005u + 1442695040888963407u;
    hash = hash * 31 + a[(at >> 33) % kN] + b[(at >> 31) % kN];
  }
  return hash;
}

static uint64_t uneven(void) {
  enum { kBytes = 7000, kTurns = 4 };
  unsigned char *image[] = {(unsigned char *)a, (unsigned char *)b, (unsigned char *)c};
  uint64_t hash = 0;
  for (size_t i = 0; i < 3 * kN; i++) (i < kN ? a : i < 2 * kN ? b : c)[i % kN] = i;
  for (size_t turn = 0; turn < kTurns; turn++)
    for (size_t k = 0; k < 3; k++)
      for (size_t y = kN * sizeof *a / kBytes; y-- > 0;) hash = hash * 31 + image[k][y * kBytes + 50 * turn];
  return hash;
}

int main(int argc, char **argv) {
  a = malloc(kN * sizeof *a), b = malloc(kN * sizeof *b), c = calloc(kN, sizeof *c);
  if (!a || !b || !c) return 1;
  if (argc > 1 && !strcmp(argv[1], "random")) {
    printf("%016llx\n", (unsigned long long)at_random());
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "uneven")) {
    printf("%016llx\n", (unsigned long long)uneven());
    return 0;
  }
  printf("%016llx\n", (unsigned long long)side_by_side());
  printf("%016llx\n", (unsigned long long)backward());
  printf("%016llx\n", (unsigned long long)columns());
  printf("%016llx\n", (unsigned long long)threads());
  return 0;
}
