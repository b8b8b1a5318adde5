// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A direct read that is under way while the pager begins to page the block that it goes to, or while that block is moved.
// Each step waits for a line on standard input, so that the test can hold the disk up in between.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
enum { kBytes = 256 << 10, kBlock = 8 << 20 };
static int fd, vectors;
static char *target;
static ssize_t got;
static int got_errno;

static void check(int ok, const char *what) {
  if (ok) return;
  perror(what);
  exit(1);
}

static void say(const char *what) {
  printf("%s\n", what);
  fflush(stdout);
  getchar();
}

static void *reader(void *unused) {
  struct iovec two[2] = {{target, kBytes / 2}, {target + kBytes / 2, kBytes / 2}};
  got = vectors ? preadv(fd, two, 2, 0) : pread(fd, target, kBytes, 0);
  got_errno = errno;
  return unused;
}

static uint64_t sum;
static void fill(size_t bytes) {
  volatile uint64_t *more = malloc(bytes);
  check(more != NULL, "malloc");
  for (int round = 0; round < 3; round++)
    for (size_t i = 0; i < bytes / 8; i += 512) more[i] = more[i] + i, sum += more[i];
}

int main(int argc, char **argv) {
  check(argc == 3, "arguments");
  const int moves = !strcmp(argv[2], "moved");
  vectors = !strcmp(argv[2], "vectors");
  fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  check(fd >= 0, argv[1]);
  char *block = mmap(NULL, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(block != MAP_FAILED, "mmap");
  target = block + MB;
  for (size_t i = 0; i < kBytes; i += 8) *(uint64_t *)(target + i) = i * 0x9e3779b97f4a7c15u;
  check(pwrite(fd, target, kBytes, 0) == kBytes, "pwrite");
  memset(block, 0xff, kBlock);
  if (moves) fill(48 * MB); // it is paged before the read begins
  say("written");
  pthread_t thread;
  check(!pthread_create(&thread, NULL, reader, NULL), "thread");
  say("reading");
  if (moves) {
    char *moved = mremap(block, kBlock, 2 * kBlock, MREMAP_MAYMOVE);
    check(moved != MAP_FAILED, "mremap");
    target = moved + (target - block);
    block = moved;
  } else {
    fill(48 * MB);
  }
  say("stored");
  pthread_join(thread, NULL);
  if (got != kBytes) {
    printf("%s\n", got < 0 ? strerror(got_errno) : "a part");
    return 0;
  }
  fill(32 * MB); // what has come must stay, too
  for (size_t i = 0; i < kBytes; i += 8)
    if (*(uint64_t *)(target + i) != i * 0x9e3779b97f4a7c15u) {
      printf("lost at %zu\n", i);
      return 1;
    }
  for (size_t i = 0; i < MB; i++) check(block[i] == (char)0xff, "the rest of the block");
  printf("all there\n");
  return 0;
}
