// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program's own direct I/O from and to memory that is paged, while other threads make the pager evict it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
enum { kBuffer = 4 << 20, kRounds = 100 };
static atomic_int stop;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static void *churn(void *p) {
  size_t n = 32 * MB / 8;
  volatile uint64_t *own = p; // no hints: other pages than these must go too
  for (uint64_t round = 0; !stop; round++)
    for (size_t i = 0; i < n; i += 512) own[i] = own[i] + round;
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 2) return 1;
  int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  check(fd >= 0, argv[1]);
  char *noise = malloc(32 * MB), *raw = malloc(2 * kBuffer + 4096);
  check(noise && raw, "malloc");
  char *in = (char *)(((uintptr_t)raw + 4095) & ~(uintptr_t)4095), *out = in + kBuffer;
  memset(noise, 0, 32 * MB);
  pthread_t thread;
  check(!pthread_create(&thread, NULL, churn, noise), "thread");
  uint64_t h = 0;
  for (int round = 0; round < kRounds; round++) {
    for (size_t i = 0; i < kBuffer; i += 8) *(uint64_t *)(out + i) = i * 0x9e3779b97f4a7c15u + (uint64_t)round;
    check(pwrite(fd, out, kBuffer, 0) == kBuffer, "pwrite");
    memset(in, round, kBuffer);
    struct iovec two[2] = {{in, kBuffer / 4}, {in + kBuffer / 4, kBuffer / 4 * 3}};
    switch (round % 4) {
    case 0: check(pread(fd, in, kBuffer, 0) == kBuffer, "pread"); break;
    case 1: check(preadv(fd, two, 2, 0) == kBuffer, "preadv"); break;
    case 2: check(lseek(fd, 0, SEEK_SET) == 0 && read(fd, in, kBuffer) == kBuffer, "read"); break;
    case 3: check(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, two, 2) == kBuffer, "readv"); break;
    }
    for (size_t i = 0; i < kBuffer; i += 8) {
      if (*(uint64_t *)(in + i) != i * 0x9e3779b97f4a7c15u + (uint64_t)round) {
        printf("round %d: other data at %zu\n", round, i);
        return 1;
      }
      h = h * 31 + *(uint64_t *)(in + i);
    }
  }
  check(pread(fd, in, kBuffer, kBuffer - 8192) == 8192, "the end of the file");
  check(pread(fd, in, kBuffer, kBuffer) == 0, "beyond the end");
  check(read(-1, in, 4096) == -1 && errno == EBADF, "no file");
  stop = 1;
  pthread_join(thread, NULL);
  unlink(argv[1]);
  printf("%016llx\n", (unsigned long long)h);
  return 0;
}
