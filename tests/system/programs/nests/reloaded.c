// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose bounds and arrays are globals, or in a structure, that their stores may change, as far as the compiler can
// tell: by name, by pointer, and under a condition.
#include <stdio.h>
#include <stdlib.h>

enum { kSteps = 4 };

struct Grid {
  long n;
  long *now, *next;
};

long cells;
long *weights;

__attribute__((noinline)) static void weigh(void) {
  for (long i = 0; i < cells; i++)
    weights[i] += i % 7;
}

__attribute__((noinline)) static void step(struct Grid *g) {
  for (long i = 1; i < g->n - 1; i++)
    if (weights[i] % 3)
      g->next[i] = (g->now[i - 1] + g->now[i] + g->now[i + 1]) / 3 + weights[i];
}

__attribute__((noinline)) static long sum(const struct Grid *g, long *total) {
  for (long i = 0; i < g->n; i++)
    *total = *total * 31 + g->now[i];
  return *total;
}

int main(void) {
  cells = 3 << 20;
  struct Grid g = {cells, calloc(cells, sizeof(long)), calloc(cells, sizeof(long))};
  weights = calloc(cells, sizeof(long));
  if (!g.now || !g.next || !weights)
    return 1;
  g.now[cells / 2] = 1000000;
  for (int k = 0; k < kSteps; k++) {
    weigh();
    step(&g);
    long *swapped = g.now;
    g.now = g.next;
    g.next = swapped;
  }
  long total = 0;
  printf("%ld\n", sum(&g, &total));
  return 0;
}
