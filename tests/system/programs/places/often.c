// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are entered often. A search that is called for each hit, and ends where it begins; by several threads at once, if
// there is an argument; with "far", each hit is half a megabyte from the last one.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 10 << 20, THREADS = 4, FAR = 1 << 17 };
static int *data;
static long every = 8;

static long next(const int *a, long i, long n) {
  for (; i < n; i++)
    if (a[i] % every == 0) break;
  return i;
}

struct Part {
  long from, to;
  uint64_t sum, hits;
};

__attribute__((noinline)) static void *go(void *arg) {
  struct Part *p = arg;
  for (long i = next(data, p->from, p->to); i < p->to; i = next(data, i + 1, p->to)) p->sum = p->sum * 31 + data[i], p->hits++;
  return NULL;
}

int main(int argc, char **argv) {
  const int threads = argc > 1 && !strcmp(argv[1], "threads") ? THREADS : 1;
  if (argc > 1 && !strcmp(argv[1], "far")) every = FAR;
  data = malloc(N * sizeof(int));
  if (!data) return 1;
  for (long i = 0; i < N; i++) data[i] = (int)(i + every / 2);
  struct Part part[THREADS] = {{0}};
  pthread_t thread[THREADS];
  for (int sweep = 0; sweep < 3; sweep++) {
    for (int t = 0; t < threads; t++) {
      part[t].from = (long)N / threads * t, part[t].to = (long)N / threads * (t + 1);
      if (threads == 1) go(&part[t]);
      else if (pthread_create(&thread[t], NULL, go, &part[t])) return 1;
    }
    for (int t = 0; t < threads && threads > 1; t++) pthread_join(thread[t], NULL);
  }
  for (int t = 0; t < threads; t++) printf("%llu %llu\n", (unsigned long long)part[t].sum, (unsigned long long)part[t].hits);
  return 0;
}
