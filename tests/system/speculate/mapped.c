// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a file through mappings: mapped FILE HOW COUNT. It prints a sum.
//
//   scattered  pages of one mapping, each of them somewhere else
//   shared     the same, MAP_SHARED
//   again      a part is mapped, read and unmapped, then the next, at the same address
//   written    every other page goes from the mapping to the output: the kernel reads it
//   caught     scattered, and between them memory that a handler of SIGSEGV makes readable
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kPage = 4096, kPart = 1 << 20 };

static unsigned char *guarded;
static volatile sig_atomic_t caught;

static void make_readable(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  if (info->si_addr != guarded || mprotect(guarded, kPage, PROT_READ | PROT_WRITE)) _exit(9);
  caught++;
}

static void catch_faults() {
  struct sigaction action = {.sa_sigaction = make_readable, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  guarded = mmap(NULL, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void touch_guarded() {
  mprotect(guarded, kPage, PROT_NONE);
  *(volatile unsigned char *)guarded = 1;
}

static long sum_of(const unsigned char *page) {
  long sum = 0;
  for (int i = 0; i < kPage; i += 64) sum += page[i];
  return sum;
}

static long place_of(long i, long pages) { return i * 7919 % pages; }

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const char *const how = argv[2];
  const int file = open(argv[1], O_RDONLY);
  const long count = atol(argv[3]);
  struct stat facts;
  if (file < 0 || fstat(file, &facts)) return 3;
  const long pages = facts.st_size / kPage;
  long sum = 0;
  if (!strcmp(how, "again")) {
    for (long i = 0; i < count; i++) {
      const unsigned char *const part = mmap(NULL, kPart, PROT_READ, MAP_PRIVATE, file, i * kPart % (pages * kPage));
      if (part == MAP_FAILED) return 4;
      for (long k = 0; k < kPart / kPage; k += 40) sum += sum_of(part + k * kPage);
      munmap((void *)part, kPart);
    }
  } else {
    const unsigned char *const all =
        mmap(NULL, pages * kPage, PROT_READ, strcmp(how, "shared") ? MAP_PRIVATE : MAP_SHARED, file, 0);
    if (all == MAP_FAILED) return 4;
    close(file);
    if (!strcmp(how, "caught")) catch_faults();
    for (long i = 0; i < count; i++) {
      const unsigned char *const page = all + place_of(i, pages) * kPage;
      if (guarded) touch_guarded();
      if (i % 2 || strcmp(how, "written")) sum += sum_of(page);
      else if (write(1, page, kPage) != kPage) return 5;
    }
  }
  printf("%ld\n", sum);
  return guarded && caught != count;
}
