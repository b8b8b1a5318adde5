// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that must behave as private memory does, wherever it is kept: memory WAY.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
enum { kWords = 24 << 17 }; // 24 MB

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

static uint64_t *filled(uint64_t seed) {
  uint64_t *p = malloc(kWords * sizeof *p);
  check(p != NULL, "malloc");
  for (size_t i = 0; i < kWords; i++) p[i] = (i + seed) * 0x9e3779b97f4a7c15u;
  return p;
}

static uint64_t digest(const uint64_t *p) {
  uint64_t h = 0;
  for (size_t i = 0; i < kWords; i++) h = h * 31 + p[i];
  return h;
}

static void wait_for(pid_t child) {
  int status = -1;
  check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child");
}

// Both sides change everything and go on seeing their own; the child of the child, too.
static void family(void) {
  uint64_t *a = filled(1), *b = filled(2);
  fflush(stdout);
  const pid_t child = fork();
  for (size_t i = 0; i < kWords; i += 3) a[i] += child ? 5 : 9;
  if (child == 0) {
    const pid_t grandchild = fork();
    for (size_t i = 0; i < kWords; i += 7) b[i] ^= grandchild ? 11 : 13;
    if (grandchild) wait_for(grandchild);
    printf("%d %016llx %016llx\n", grandchild == 0, (unsigned long long)digest(a), (unsigned long long)digest(b));
    fflush(stdout);
    _exit(0);
  }
  wait_for(child);
  printf("parent %016llx %016llx\n", (unsigned long long)digest(a), (unsigned long long)digest(b));
}

// A stack in a block forks: both sides go on, on it.
static uint64_t *shared_by_both;
static void *forks(void *unused) {
  volatile uint64_t local[1000];
  for (int i = 0; i < 1000; i++) local[i] = shared_by_both[i];
  const pid_t child = fork();
  for (int i = 0; i < 1000; i++) local[i] *= child ? 3 : 5;
  uint64_t sum = 0;
  for (int i = 0; i < 1000; i++) sum += local[i];
  if (child == 0) _exit(sum == shared_by_both[1001] * 5 ? 0 : 1);
  wait_for(child);
  check(sum == shared_by_both[1001] * 3, "the parent's stack");
  return unused;
}

static void stack(void) {
  uint64_t *a = filled(1);
  shared_by_both = filled(2);
  shared_by_both[1001] = 0;
  for (int i = 0; i < 1000; i++) shared_by_both[1001] += shared_by_both[i];
  char *place = aligned_alloc(4096, 8 * MB);
  check(place != NULL, "aligned_alloc");
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  check(!pthread_attr_setstack(&attributes, place, 8 * MB) && !pthread_create(&thread, &attributes, forks, NULL), "thread");
  pthread_join(thread, NULL);
  check(!madvise(place, 8 * MB, MADV_DONTNEED), "madvise");
  for (size_t i = 0; i < 8 * MB; i++) check(place[i] == 0, "zeros");
  free(place);
  printf("%016llx %016llx\n", (unsigned long long)digest(a), (unsigned long long)digest(shared_by_both));
}

// Protection is inherited; zeros are zeros wherever they are asked for; what is locked stays usable.
static void treated(void) {
  uint64_t *a = filled(1), *b = filled(2);
  char *m = mmap(NULL, 24 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(m != MAP_FAILED, "mmap");
  memset(m, 1, 24 * MB);
  check(!mprotect(m + MB, MB, PROT_READ) && !mprotect(m + 4 * MB, 12345, PROT_NONE), "mprotect");
  const pid_t child = fork();
  if (child == 0) {
    int pipes[2];
    check(!pipe(pipes) && m[MB] == 1, "read only");
    check(write(pipes[1], "x", 1) == 1 && read(pipes[0], m + MB, 1) == -1 && errno == EFAULT, "store to what is read only");
    check(write(pipes[1], m + 4 * MB, 1) == -1 && errno == EFAULT, "read of what cannot be");
    _exit(0);
  }
  wait_for(child);
  check(!mprotect(m, 24 * MB, PROT_READ | PROT_WRITE), "mprotect");
  check(!madvise(m + 4096, 20 * MB, MADV_DONTNEED), "madvise");
  for (size_t i = 0; i < 24 * MB; i++) check(m[i] == (i < 4096 || i >= 20 * MB + 4096), "zeros");
  m = mremap(m, 24 * MB, 30 * MB, MREMAP_MAYMOVE);
  check(m != MAP_FAILED && m[0] == 1 && m[4096] == 0 && m[23 * MB] == 1 && m[25 * MB] == 0, "mremap");
  munmap(m, 400 << 10); // less than what room is handed out in
  uint64_t *c = filled(3);
  for (size_t i = 400 << 10; i < 30 * MB; i++) check(m[i] == (i >= 20 * MB + 4096 && i < 24 * MB), "the rest of a mapping");
  c = realloc(c, kWords * sizeof *c + 3 * MB);
  check(c != NULL, "realloc");
  printf("%016llx %016llx %016llx\n", (unsigned long long)digest(a), (unsigned long long)digest(b), (unsigned long long)digest(c));
  free(b);
  char *z = calloc(24, MB);
  check(z != NULL, "calloc");
  for (size_t i = 0; i < 24 * MB; i++) check(z[i] == 0, "calloc");
}

// Another thread stores to one block while others come.
static _Atomic int stop;
static void *stores(void *block) {
  uint64_t *p = block, n = 0;
  while (!stop || n < 1000000) ++p[n++ % kWords];
  uint64_t *count = malloc(sizeof *count);
  check(count != NULL, "malloc");
  *count = n;
  return count;
}

static void others(void) {
  uint64_t *a = calloc(kWords, sizeof *a), sum = 0;
  pthread_t thread;
  void *count;
  check(a && !pthread_create(&thread, NULL, stores, a), "thread");
  uint64_t *b = filled(1), *c = filled(2);
  stop = 1;
  pthread_join(thread, &count);
  for (size_t i = 0; i < kWords; i++) sum += a[i];
  check(sum == *(uint64_t *)count, "stores are lost");
  printf("%016llx %016llx\n", (unsigned long long)digest(b), (unsigned long long)digest(c));
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "";
  if (!strcmp(way, "family")) family();
  else if (!strcmp(way, "stack")) stack();
  else if (!strcmp(way, "treated")) treated();
  else if (!strcmp(way, "others")) others();
  else if (!strcmp(way, "locked")) {
    uint64_t *a = filled(1), *b = filled(2);
    printf("%d %d %016llx %016llx\n", mlock(a, MB), mlock(b, MB), (unsigned long long)digest(a), (unsigned long long)digest(b));
  } else return 2;
  return 0;
}
