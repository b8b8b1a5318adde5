// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Uses a file that it maps, in the way that the second argument says: mapped FILE WAY. Prints a sum.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t n;
static const size_t places = 60000;

static uint64_t *map(int fd, int protection, int flags) {
  void *p = mmap(NULL, n * sizeof(uint64_t), protection, flags, fd, 0);
  if (p == MAP_FAILED) exit(2);
  return p;
}

__attribute__((noinline)) static uint64_t sum(const uint64_t *a, size_t from, size_t to) {
  uint64_t s = 0;
  for (size_t i = from; i < to; i++)
    s += a[i] * (i | 1);
  return s;
}

static uint64_t gather(const uint64_t *a, const uint32_t *place, size_t count) {
  uint64_t s = 0;
  for (size_t i = 0; i < count; i++)
    s = s * 31 + a[place[i]];
  return s;
}

static void change(uint64_t *a) {
  for (size_t i = 0; i < n; i++)
    a[i] ^= i;
}

enum { kBits = 6, kBuckets = 1 << kBits };

static void scatter(uint32_t *out, size_t *next, const uint32_t *key, size_t count) {
  for (size_t i = 0; i < count; i++)
    out[next[key[i] >> (32 - kBits)]++] = key[i];
}

/// Sorts the keys into the buckets of their first bits.
static void sort(uint32_t *out, const uint32_t *key, size_t count) {
  size_t next[kBuckets] = {0}, begin = 0;
  for (size_t i = 0; i < count; i++)
    next[key[i] >> (32 - kBits)]++;
  for (size_t b = 0; b < kBuckets; b++) {
    const size_t keys = next[b];
    next[b] = begin;
    begin += keys;
  }
  scatter(out, next, key, count);
}

static uint32_t *random_places(void) {
  uint32_t *place = malloc(places * sizeof *place);
  uint64_t x = 88172645463325252u;
  if (!place) exit(2);
  for (size_t i = 0; i < places; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    place[i] = (uint32_t)(x % n);
  }
  return place;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const char *way = argv[2];
  struct stat st;
  int fd = open(argv[1], O_RDWR);
  if (fd < 0) fd = open(argv[1], O_RDONLY);
  if (fd < 0 || fstat(fd, &st)) return 2;
  n = (size_t)st.st_size / sizeof(uint64_t);
  uint64_t s = 0;
  if (!strcmp(way, "sequential")) {
    s = sum(map(fd, PROT_READ, MAP_SHARED), 0, n);
  } else if (!strcmp(way, "gather")) {
    s = gather(map(fd, PROT_READ, MAP_SHARED), random_places(), places);
  } else if (!strcmp(way, "index")) { // the first half of the file says where to look in the second
    const uint64_t *a = map(fd, PROT_READ, MAP_PRIVATE);
    for (size_t i = 0; i < n / 2; i += 37)
      s = s * 31 + a[n / 2 + a[i] % (n / 2)];
  } else if (!strcmp(way, "private")) {
    uint64_t *a = map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    change(a);
    s = sum(a, 0, n) ^ sum(map(fd, PROT_READ, MAP_SHARED), 0, n);
  } else if (!strcmp(way, "shared")) {
    uint64_t *a = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    change(a);
    if (msync(a, n * sizeof *a, MS_SYNC)) return 2;
    s = sum(a, 0, n);
  } else if (!strcmp(way, "buckets")) { // the keys of the first half into the second
    uint32_t *a = (uint32_t *)map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    sort(a + n, a, n);
    s = sum((const uint64_t *)a, n / 2, n);
  } else if (!strcmp(way, "twice")) {
    const uint64_t *a = map(fd, PROT_READ, MAP_SHARED), *b = map(fd, PROT_READ, MAP_PRIVATE);
    for (size_t i = 0; i < n; i++)
      s = s * 31 + a[i] + b[n - 1 - i];
  } else if (!strcmp(way, "remap")) { // grown, moved, cut and unmapped while hints are on
    char *p = mmap(NULL, n * 4, PROT_READ, MAP_SHARED, fd, 0);
    for (int round = 0; round < 3 && p != MAP_FAILED; round++) {
      s = s * 31 + sum((const uint64_t *)p, 0, n / 2);
      char *more = mremap(p, n * 4, n * 8, MREMAP_MAYMOVE);
      if (more == MAP_FAILED) return 2;
      s = s * 31 + sum((const uint64_t *)more, 0, n);
      if (munmap(more + n * 4, n * 4)) return 2;
      p = more;
    }
    munmap(p, n * 4);
  } else if (!strcmp(way, "forked")) { // the child goes on where its parent has hints under way
    const uint64_t *a = map(fd, PROT_READ, MAP_SHARED);
    const uint32_t *place = random_places();
    s = gather(a, place, places / 8);
    const pid_t child = fork();
    if (child == 0) {
      printf("%016llx\n", (unsigned long long)gather(a, place, places));
      exit(0);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status) return 2;
  } else if (!strcmp(way, "cut")) { // SIGBUS, after all that is there
    const uint64_t *a = map(fd, PROT_READ, MAP_SHARED);
    const uint32_t *place = random_places();
    if (ftruncate(fd, st.st_size / 2)) return 2;
    printf("%016llx\n", (unsigned long long)sum(a, 0, n / 2));
    fflush(stdout);
    s = gather(a, place, places);
  }
  printf("%016llx\n", (unsigned long long)s);
  return 0;
}
