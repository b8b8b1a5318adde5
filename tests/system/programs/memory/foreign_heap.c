// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A heap of the program's own that maps memory under its lock, and holds the lock over a fork, as jemalloc does. Paging begins
// in such a mapping, and must not ask this heap for anything then; nor may the pager of a child. Prints the sums of what was
// stored, as the parent and a child see it.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kChunk = 8 << 20, kChunks = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *at, *end;
static uint64_t *block[kChunks];

static void *take(size_t bytes) {
  bytes = (bytes + 4095) & ~(size_t)4095; // aligned for all
  pthread_mutex_lock(&lock);
  if ((size_t)(end - at) < bytes) {
    const size_t more = bytes > kChunk ? bytes : kChunk;
    at = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end = at + more;
  }
  char *p = at;
  at += bytes;
  pthread_mutex_unlock(&lock);
  return p;
}

void *malloc(size_t bytes) { return take(bytes ? bytes : 1); }
void *calloc(size_t n, size_t bytes) { return take(n * bytes ? n * bytes : 1); } // fresh memory is zero
void *realloc(void *p, size_t bytes) { return p ? memcpy(take(bytes), p, bytes) : take(bytes); } // nobody shrinks here
void free(void *p) { (void)p; }

static void hold(void) { pthread_mutex_lock(&lock); }
static void let_go(void) { pthread_mutex_unlock(&lock); }

static uint64_t sum_up(void) {
  uint64_t sum = 0;
  for (int i = 0; i < kChunks; ++i)
    for (size_t k = 0; k < kChunk / 8; k += 64) sum = sum * 31 + block[i][k];
  return sum;
}

int main(void) {
  pthread_atfork(hold, let_go, let_go);
  for (int i = 0; i < kChunks; ++i) {
    block[i] = malloc(kChunk);
    for (size_t k = 0; k < kChunk / 8; k += 64) block[i][k] = i + k;
  }
  const pid_t child = fork();
  if (child == 0) block[1][0] += 7; // the parent does not see it
  const uint64_t sum = sum_up();
  if (child == 0) return dprintf(1, "child %016llx\n", (unsigned long long)sum) < 0;
  int status = 1;
  if (waitpid(child, &status, 0) != child || status) return 1;
  printf("parent %016llx\n", (unsigned long long)sum);
  return 0;
}
