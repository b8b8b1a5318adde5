// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ten thousand threads, 256 at a time, that give hints by hand, wild ones too, as fast as they can; some run nests, some end inside them.
// Standard error gets the hints that were refused, and the anonymous memory in KiB before and after the threads.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In the plain build there are none.
__attribute__((weak)) int pagecast_prefetch(const void *, size_t);
__attribute__((weak)) int pagecast_prefetch_write(void *, size_t);
__attribute__((weak)) int pagecast_release(const void *, size_t, unsigned);

enum { kAtOnce = 256, kRounds = 40, kHints = 50, kPart = 33 << 10 };
static const size_t kN = 6 << 20;
static uint64_t *data;
static atomic_ullong total, refused;

static void hint(uint64_t at) {
  if (!pagecast_prefetch) return;
  char *place = (char *)data + at % (kN * sizeof *data);
  const size_t bytes = 4096u << at % 11; // may be past the end of the data
  const int done = at % 3 == 0   ? pagecast_prefetch(place, bytes)
                   : at % 3 == 1 ? pagecast_prefetch_write(place, bytes)
                                 : pagecast_release(place, bytes, (unsigned)at & 7);
  if (done < 0) refused++;
}

__attribute__((noinline)) static uint64_t sum(size_t from, size_t to) {
  uint64_t h = 0;
  for (size_t i = from; i < to; i++) h += data[i] ^ i;
  return h;
}

/// The compiler shall not see that nothing comes after it.
__attribute__((noinline)) static void end(uint64_t h) {
  if (h == 1) return;
  total += h;
  pthread_exit(NULL);
}

__attribute__((noinline)) static uint64_t end_inside(size_t from) {
  uint64_t h = 0;
  for (size_t i = from; i < kN; i += 2048) {
    for (size_t j = i; j < i + 2048; j++) h += data[j];
    if (i - from >= kPart) end(h);
  }
  return h;
}

static void *work(void *argument) {
  const size_t number = (size_t)argument, from = number * 4999 * 2048 % (kN - 3 * kPart);
  uint64_t x = number * 0x9e3779b97f4a7c15u + 1;
  for (int i = 0; i < kHints; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    hint(x);
  }
  if (number % 4 == 3) total += sum(from, from + kPart);
  if (number % 64 == 5) total += end_inside(from);
  return NULL;
}

static long anonymous_kib(void) {
  char line[200];
  long kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (!strncmp(line, "RssAnon:", 8)) kib = strtol(line + 8, NULL, 10);
  if (status) fclose(status);
  return kib;
}

int main(void) {
  data = malloc(kN * sizeof *data);
  if (!data) return 1;
  for (size_t i = 0; i < kN; i++) data[i] = i * 3;
  long before = 0;
  for (size_t round = 0; round < kRounds; round++) {
    if (round == 1) before = anonymous_kib();
    pthread_t thread[kAtOnce];
    for (size_t i = 0; i < kAtOnce; i++)
      if (pthread_create(&thread[i], NULL, work, (void *)(round * kAtOnce + i))) return 1;
    for (size_t i = 0; i < kAtOnce; i++) pthread_join(thread[i], NULL);
  }
  fprintf(stderr, "%llu %ld %ld\n", (unsigned long long)refused, before, anonymous_kib());
  printf("%016llx %016llx\n", (unsigned long long)total, (unsigned long long)sum(0, kN));
  return 0;
}
