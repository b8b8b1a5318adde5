// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One of COUNT members that share a file: ranks FILE COUNT HOW. HOW is one of: once; stuck, in which member 1 never leaves its
// nest, and an alarm ends it; slow, in which member 1 has by far the most to do; fork, in which one process makes the others;
// threads, in which they are threads; rows, in which each goes through its part a row at
// a time, over and over; reads, in which the file is read instead of mapped.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRow = 1024 };
static volatile long row_length = kRow; // of nests of constant size that are as small, the compiler makes nothing

__attribute__((noinline)) double own(const double *a, long from, long to) {
  double s = 0;
  for (long i = from; i < to; i++) s += a[i];
  return s;
}

__attribute__((noinline)) double half(const double *a, long from, long to, long rounds) {
  double s = 0;
  for (long k = 0; k < rounds; k++)
    for (long i = from; i < to; i++) s += a[i] * (double)k;
  return s;
}

__attribute__((noinline)) double picked(const double *a, const int *which, long n) {
  double s = 0;
  for (long i = 0; i < n; i++) s += a[which[i]];
  return s;
}

__attribute__((noinline)) double row(const double *a, long n) {
  double s = 0;
  for (long i = 0; i < n; i++) s += a[i];
  return s;
}

__attribute__((noinline)) double read_half(int fd, long from, long to) {
  double s = 0, block[kRow];
  for (long i = from; i < to; i += kRow)
    if (pread(fd, block, sizeof block, i * 8) > 0) s += block[0];
  return s;
}

static double member(int fd, long n, int number, int count, const char *how) {
  const long from = n / 2 * (number % 2), to = from + n / 2;
  if (!strcmp(how, "reads")) return read_half(fd, from, to);
  const double *a = mmap(0, (size_t)n * 8, PROT_READ, MAP_SHARED, fd, 0);
  if (a == MAP_FAILED) exit(2);
  double s = 0;
  if (!strcmp(how, "rows"))
    for (int round = 0; round < 200; round++)
      for (long i = n * number / count; i < n * (number + 1) / count; i += kRow) s += row(a + i, row_length);
  s += own(a, n * number / count, n * (number + 1) / count);
  const int stuck = !strcmp(how, "stuck") && number == 1;
  if (stuck) ualarm(100000, 0);
  s += half(a, from, to, stuck ? 1L << 40 : !strcmp(how, "slow") && number == 1 ? 2000 : 2);
  int which[4096];
  for (int i = 0; i < 4096; i++) which[i] = (int)(i * 7919L % n);
  return s + picked(a, which, 4096);
}

struct work {
  int fd, number, count;
  long n;
};

static void *thread(void *arg) {
  const struct work *w = arg;
  printf("%g\n", member(w->fd, w->n, w->number, w->count, "once"));
  return NULL;
}

static int threads(int fd, long n, int count) {
  struct work work[64];
  pthread_t id[64];
  for (int i = 0; i < count; i++) work[i] = (struct work){fd, i, count, n};
  for (int i = 0; i < count; i++) pthread_create(&id[i], NULL, thread, &work[i]);
  for (int i = 0; i < count; i++) pthread_join(id[i], NULL);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int fd = open(argv[1], O_RDONLY), count = atoi(argv[2]);
  const char *rank = getenv("PMI_RANK");
  struct stat st;
  if (fstat(fd, &st)) return 2;
  if (!strcmp(argv[3], "threads")) return threads(fd, st.st_size / 8, count);
  int number = rank ? atoi(rank) : 0;
  if (!strcmp(argv[3], "fork"))
    for (int i = 1; i < count && number == 0; i++)
      if (fork() == 0) number = i;
  printf("%g\n", member(fd, st.st_size / 8, number, count, argv[3]));
  while (wait(NULL) > 0) {}
  return 0;
}
