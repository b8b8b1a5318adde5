// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Four threads, of which each goes round and round over data of its own, in an order that nothing foretells.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 4, kPage = 4096, kPages = (26 << 20) / kPage / kThreads, kRounds = 100 };
static char *data[kThreads];
static uint64_t sum[kThreads];
static pthread_barrier_t start;

static void *work(void *argument) {
  const size_t t = (size_t)argument;
  uint64_t seed = t + 1;
  uint32_t order[kPages];
  for (uint32_t i = 0; i < kPages; i++) order[i] = i;
  for (uint32_t i = kPages - 1; i > 0; i--) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint32_t other = (uint32_t)((seed >> 33) % (i + 1)), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  pthread_barrier_wait(&start);
  for (int round = 0; round < kRounds; round++)
    for (uint32_t i = 0; i < kPages; i++) sum[t] += (uint64_t)++data[t][(size_t)order[i] * kPage] * (i + 1);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  pthread_barrier_init(&start, NULL, kThreads);
  for (size_t t = 0; t < kThreads; t++)
    if (!(data[t] = calloc(kPages, kPage))) return 1;
  for (size_t t = 0; t < kThreads; t++)
    if (pthread_create(&threads[t], NULL, work, (void *)t)) return 1;
  for (size_t t = 0; t < kThreads; t++) pthread_join(threads[t], NULL);
  for (size_t t = 0; t < kThreads; t++) printf("%016llx\n", (unsigned long long)sum[t]);
  return 0;
}
