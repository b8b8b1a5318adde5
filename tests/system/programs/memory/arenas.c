// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small blocks of several threads at once, more than memory: each has a heap of its own from the C library. One thread forks while
// the others allocate, or as many as follow a number of items; all of one's blocks are freed, heap by heap, before others come.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 4 };
static long items;
static int forks;

struct item {
  struct item *next;
  uint64_t number, unused[6];
};

static struct item *make(long n, uint64_t seed) {
  struct item *first = NULL;
  for (long i = 0; i < n; i++) {
    struct item *new = malloc(sizeof *new);
    *new = (struct item){first, seed + (uint64_t)i, {0}};
    first = new;
  }
  return first;
}

static uint64_t sum(const struct item *p) {
  uint64_t s = 0;
  for (; p; p = p->next) s = s * 31 + p->number;
  return s;
}

static void *work(void *argument) {
  const uint64_t me = (uint64_t)(uintptr_t)argument;
  struct item *list = make(items, me << 32), *kept = NULL, *next;
  uint64_t s = sum(list);
  if (me % 2 && me < 2 * (uint64_t)forks) {
    const pid_t child = fork();
    int status = 0;
    if (child == 0) _exit(sum(list) == s && sum(make(1000, 1)) ? 0 : 1);
    if (waitpid(child, &status, 0) != child || status) abort();
  }
  for (; list; list = next) { // all of one thread's, else every second one
    next = list->next;
    if (me == 2 || list->number % 2) free(list);
    else list->next = kept, kept = list;
  }
  list = make(items / 2, me);
  s ^= sum(list) * 3 ^ sum(kept) * 5;
  return (void *)(uintptr_t)s;
}

int main(int count, char **arguments) {
  items = count > 1 ? atol(arguments[1]) : 150000;
  forks = count == 1 ? 1 : count > 2 ? atoi(arguments[2]) : 0;
  pthread_t threads[kThreads];
  for (uint64_t i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
  for (int i = 0; i < kThreads; i++) {
    void *s;
    pthread_join(threads[i], &s);
    printf("%016llx\n", (unsigned long long)(uintptr_t)s);
  }
  return 0;
}
