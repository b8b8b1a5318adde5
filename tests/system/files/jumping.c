// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Direct reads into paged memory that a signal's handler leaves by a jump, at any place, again and again: what came is what was
// asked for, nothing is kept of the reads that were left, and large blocks can be had and freed in between.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
enum { kRounds = 10000, kPiece = 64 << 10, kPieces = 64 };
static sigjmp_buf before;
static volatile sig_atomic_t reading;

static void check(int ok, const char *what) {
  if (ok) return;
  perror(what);
  exit(1);
}

static void leave(int number) {
  (void)number;
  if (reading) siglongjmp(before, 1);
}

static uint64_t value(uint64_t i) { return i * 0x9e3779b97f4a7c15u; }

static size_t address_space(void) {
  size_t pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  check(f && fscanf(f, "%zu", &pages) == 1, "statm");
  fclose(f);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
  check(argc == 2, "arguments");
  const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  check(fd >= 0, argv[1]);
  const size_t bytes = 48 * MB; // twice the memory
  char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(data != MAP_FAILED, "mmap");
  for (size_t i = 0; i < bytes / 8; i++) ((uint64_t *)data)[i] = value(i);
  check(pwrite(fd, data, kPieces * kPiece, 0) == kPieces * kPiece, "pwrite");
  struct sigaction action = {.sa_handler = leave};
  sigaction(SIGALRM, &action, NULL);
  const size_t space = address_space();
  volatile unsigned left = 0, whole = 0;
  static volatile uint64_t random = 1;
  for (volatile unsigned round = 0; round < kRounds; round++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t piece = (random >> 40) % kPieces, at = piece * kPiece;
    const struct itimerval timer = {{0, 0}, {0, 1 + (long)(random >> 33) % 300}};
    setitimer(ITIMER_REAL, &timer, NULL);
    if (sigsetjmp(before, 1) == 0) {
      reading = 1;
      const ssize_t got = pread(fd, data + at, kPiece, (off_t)at);
      reading = 0;
      whole += got == kPiece;
    } else {
      reading = 0;
      left++;
    }
    if (round % 16 == 0) {
      char *block = malloc(2 * MB);
      block[round] = 1;
      free(block);
    }
  }
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  for (size_t i = 0; i < bytes / 8; i++)
    if (((uint64_t *)data)[i] != value(i)) {
      printf("lost at %zu\n", i);
      return 1;
    }
  const size_t grown = address_space() - space;
  fprintf(stderr, "%u left, %u whole, %zu bytes\n", left, whole, grown);
  printf("%s\n", left < 100 || whole < 10 ? "too few of either" : grown > 64 * MB ? "memory is left behind" : "all there");
  return 0;
}
