// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads in the same nest over parts of shared arrays, indirect too, with a signal every few milliseconds.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#ifndef ELEMENTS
#define ELEMENTS (6 << 20)
#endif
enum { kThreads = 4, kN = ELEMENTS };
static uint32_t *index_of, *from, *to;
static volatile sig_atomic_t ticks;

static void on_alarm(int s) {
  (void)s;
  ticks++;
}

static void *work(void *argument) {
  const size_t t = (size_t)argument, begin = t * (kN / kThreads), end = begin + kN / kThreads;
  for (size_t i = begin; i < end; i++)
    from[i] = (uint32_t)(i * 2654435761u);
  for (size_t i = begin; i < end; i++)
    index_of[i] = (uint32_t)(begin + (i * 7919 + 13) % (kN / kThreads));
  for (size_t i = begin; i < end; i++)
    to[index_of[i]] += from[i] ^ (uint32_t)i;
  return NULL;
}

int main(void) {
  index_of = malloc(kN * sizeof *index_of), from = malloc(kN * sizeof *from), to = calloc(kN, sizeof *to);
  if (!index_of || !from || !to) return 1;
  signal(SIGALRM, on_alarm);
  struct itimerval timer = {{0, 3000}, {0, 3000}};
  setitimer(ITIMER_REAL, &timer, NULL);
  pthread_t threads[kThreads];
  for (size_t t = 0; t < kThreads; t++)
    if (pthread_create(&threads[t], NULL, work, (void *)t)) return 1;
  for (size_t t = 0; t < kThreads; t++) pthread_join(threads[t], NULL);
  uint64_t hash = 0;
  for (size_t i = 0; i < kN; i++) hash = hash * 31 + to[i];
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
