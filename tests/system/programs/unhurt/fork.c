// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Children of fork that use the data while the parent changes them: many at once, one after the other, grandchildren,
// with and without an exec, from within a nest, and with other threads at work.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kN = 4 << 20 }; // 32 MB
static uint64_t *data;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

static void fill(uint64_t seed) {
  for (size_t i = 0; i < kN; i++)
    data[i] = (i + seed) * 0x9e3779b97f4a7c15u;
}

static uint64_t digest(void) {
  uint64_t h = 0;
  for (size_t i = 0; i < kN; i++)
    h = h * 31 + data[i];
  return h;
}

static void wait_for(pid_t child, const char *what) {
  int status = -1;
  check(child > 0 && waitpid(child, &status, 0) == child, what);
  if (status) fprintf(stderr, "%s: status %x\n", what, status), _exit(1);
}

// Each child sends the digest of what it sees, changes all, and sends another.
static void children_at_once(void) {
  enum { kChildren = 3 };
  int pipes[2];
  pid_t child[kChildren];
  uint64_t sums[2 * kChildren] = {0};
  for (int c = 0; c < kChildren; c++) {
    check(!pipe(pipes), "pipe");
    fill((uint64_t)c);
    child[c] = fork();
    if (child[c] == 0) {
      uint64_t mine[2] = {digest(), 0};
      for (size_t i = (size_t)c; i < kN; i += 3) data[i] ^= (uint64_t)c + 7;
      mine[1] = digest();
      check(write(pipes[1], mine, sizeof mine) == sizeof mine, "write");
      _exit(0);
    }
    close(pipes[1]);
    if (c < kChildren - 1) fill((uint64_t)c + 100); // while the child reads
    check(read(pipes[0], sums + 2 * c, 16) == 16, "read");
    close(pipes[0]);
  }
  for (int c = 0; c < kChildren; c++) wait_for(child[c], "child at once");
  for (int c = 0; c < 2 * kChildren; c++) printf("%016llx\n", (unsigned long long)sums[c]);
  printf("parent %016llx\n", (unsigned long long)digest());
}

// Children that do not live long, and one that outlives many: backing files come and go.
static void many(void) {
  int hold[2], answer[2];
  check(!pipe(hold) && !pipe(answer), "pipe");
  fill(5);
  pid_t old = fork();
  if (old == 0) {
    char c;
    close(hold[1]);
    check(read(hold[0], &c, 1) == 0, "held");
    uint64_t h = digest();
    check(write(answer[1], &h, 8) == 8, "answer");
    _exit(0);
  }
  close(hold[0]);
  for (int round = 0; round < 24; round++) {
    for (size_t i = (size_t)round * 512; i < kN; i += 512 * 5) data[i] += (uint64_t)round;
    pid_t child = fork();
    if (child == 0) {
      if (round % 2) execl("/bin/true", "true", (char *)NULL), _exit(127);
      _exit(data[round * 512] == data[round * 512 + 1]);
    }
    if (round == 9 || round == 17) printf("%016llx\n", (unsigned long long)digest());
    wait_for(child, "one of many");
  }
  close(hold[1]);
  uint64_t h = 0;
  check(read(answer[0], &h, 8) == 8, "answer");
  wait_for(old, "the old child");
  printf("old %016llx\nparent %016llx\n", (unsigned long long)h, (unsigned long long)digest());
}

static void grandchild(void) {
  fill(9);
  pid_t child = fork();
  if (child == 0) {
    for (size_t i = 0; i < kN; i += 3) data[i]++;
    pid_t inner = fork();
    if (inner == 0) {
      for (size_t i = 1; i < kN; i += 3) data[i]++;
      printf("grandchild %016llx\n", (unsigned long long)digest());
      fflush(stdout);
      _exit(0);
    }
    wait_for(inner, "grandchild");
    printf("child %016llx\n", (unsigned long long)digest());
    fflush(stdout);
    _exit(0);
  }
  wait_for(child, "child with a child");
  printf("parent %016llx\n", (unsigned long long)digest());
}

static __attribute__((noinline)) void fork_in_between(size_t i) {
  if (i != kN / 2) return;
  fflush(stdout);
  pid_t child = fork();
  if (child) {
    wait_for(child, "child in a nest");
    return;
  }
  printf("in a nest ");
}

static void in_a_nest(void) {
  pid_t self = getpid();
  uint64_t h = 0;
  for (size_t i = 0; i < kN; i += 1024) {
    for (size_t j = 0; j < 1024; j++) h += data[i + j] ^ j;
    fork_in_between(i);
  }
  printf("%016llx\n", (unsigned long long)h);
  fflush(stdout);
  if (getpid() != self) _exit(0);
}

static atomic_int stop;

static void *worker(void *p) {
  uint64_t *own = malloc(8 << 20), h = 0;
  const size_t n = (8 << 20) / 8;
  for (size_t round = 0; !stop || round < 2; round++)
    for (size_t i = 0; i < n; i++) {
      if (round && own[i] != i + round - 1) abort();
      own[i] = i + round;
      h += own[i];
    }
  free(own);
  (void)h;
  return p;
}

static void with_threads(void) {
  pthread_t threads[3];
  fill(11);
  for (int t = 0; t < 3; t++) check(!pthread_create(&threads[t], NULL, worker, NULL), "thread");
  for (int round = 0; round < 6; round++) {
    pid_t child = fork();
    if (child == 0) {
      void *p = malloc(3 << 20); // locks of the allocators are free
      memset(p, 1, 3 << 20);
      free(p);
      for (size_t i = 0; i < kN; i += 4096) check(data[i] == (i + 11) * 0x9e3779b97f4a7c15u, "data");
      _exit(0);
    }
    wait_for(child, "child beside threads");
  }
  stop = 1;
  for (int t = 0; t < 3; t++) pthread_join(threads[t], NULL);
  printf("%016llx\n", (unsigned long long)digest());
}

int main(void) {
  data = malloc(kN * sizeof *data);
  check(data != NULL, "malloc");
  children_at_once();
  many();
  grandchild();
  in_a_nest();
  fflush(stdout);
  with_threads();
  return 0;
}
