// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small blocks of the C library, more than memory: lists of several threads, system calls that store into such blocks, children, and
// calls that would give memory back.
#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct item {
  struct item *next;
  uint64_t number, unused[4];
};

static struct item *make(long items) {
  struct item *first = NULL;
  for (long i = 0; i < items; i++) {
    struct item *new = malloc(sizeof *new);
    *new = (struct item){first, (uint64_t)i, {0}};
    first = new;
  }
  return first;
}

static uint64_t sum(const struct item *p) {
  uint64_t s = 0;
  for (; p; p = p->next) s = s * 31 + p->number;
  return s;
}

static void *thread(void *items) { return make((long)items); }

int main(void) {
  struct item *list = make(500000);
  printf("%016llx\n", (unsigned long long)sum(list));
  // The kernel stores into blocks, old ones among them.
  char **lines = malloc(5000 * sizeof *lines);
  for (int i = 0; i < 5000; i++) lines[i] = strdup("a line that is longer than a pointer");
  FILE *zeros = fopen("/dev/zero", "r");
  struct stat *s = malloc(sizeof *s);
  for (int i = 0; i < 5000; i += 100) {
    if (read(fileno(zeros), lines[i], 5) != 5 || fread(lines[i] + 5, 1, 3, zeros) != 3 || stat("/", s)) return 1;
    if (memcmp(lines[i], "\0\0\0\0\0\0\0\0hat", 11)) return 2;
  }
  DIR *root = opendir("/");
  int names = 0;
  while (readdir(root)) names++;
  if (names < 3 || closedir(root) || fclose(zeros)) return 3;
  // Half is given back and taken again; nothing of the rest may go.
  struct item *kept = NULL;
  for (struct item *p = list, *next; p; p = next) {
    next = p->next;
    if (p->number % 2) free(p);
    else p->next = kept, kept = p;
  }
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  malloc_trim(0);
  struct item *more = make(250000);
  printf("%016llx %016llx\n", (unsigned long long)sum(kept), (unsigned long long)sum(more));
  pid_t child = fork();
  if (child == 0) {
    struct item *own = make(1000);
    _exit(sum(kept) + sum(own) == 0);
  }
  for (struct item *p = kept; p; p = p->next) p->number++;
  int status;
  if (waitpid(child, &status, 0) != child || status) return 4;
  if (system("true")) return 5;
  pthread_t threads[3];
  void *lists[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, thread, (void *)(10000L + i));
  for (int i = 0; i < 3; i++) pthread_join(threads[i], &lists[i]);
  printf("%016llx %016llx\n", (unsigned long long)sum(kept), (unsigned long long)(sum(lists[0]) ^ sum(lists[1]) ^ sum(lists[2])));
  char *grown = malloc(100);
  for (size_t bytes = 100; bytes < 8 << 20; bytes = bytes * 3 / 2) grown = realloc(grown, bytes), grown[bytes - 1] = 1;
  for (struct item *p = kept, *next; p; p = next) next = p->next, free(p);
  return 0;
}
