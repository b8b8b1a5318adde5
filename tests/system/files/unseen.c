// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads of a mapped file that no hint foretells. "lookups": pages in no order; "through": all pages in order, again and
// again; "both": one after the other; "down": columns of rows of 24,000 bytes. What has been read is dropped soon, as where
// memory is short, unless a third argument says that it is to stay: that prints the same.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kPage = 4096, kRounds = 100, kLookups = 8, kPasses = 24, kStretch = 4 << 20, kRow = 24000, kColumns = 100 };
static int fd, stays;
static size_t bytes;
static const volatile unsigned char *data;
static uint64_t hash = 1;

static void drop(size_t from, size_t length) {
  if (stays) return;
  madvise((void *)(data + from), length, MADV_DONTNEED);
  posix_fadvise(fd, (off_t)from, (off_t)length, POSIX_FADV_DONTNEED);
}

static void lookups(void) {
  uint64_t random = 7;
  for (int round = 0; round < kRounds; round++) {
    for (int i = 0; i < kLookups; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      hash = hash * 31 + data[(random >> 20) % (bytes / kPage) * kPage];
    }
    drop(0, bytes);
  }
}

static void through(void) {
  for (int pass = 0; pass < kPasses; pass++)
    for (size_t at = 0; at < bytes; at += kStretch) {
      for (size_t i = at; i < at + kStretch && i < bytes; i += kPage) hash = hash * 31 + data[i];
      if (at) drop(at - kStretch, kStretch);
    }
}

static void down(void) {
  for (size_t column = 0; column < kColumns; column++) {
    for (size_t row = 0; row < bytes / kRow; row++) hash = hash * 31 + data[row * kRow + 232 * column];
    drop(0, bytes);
  }
}

int main(int argc, char **argv) {
  struct stat file;
  stays = argc == 4;
  if (argc < 3 || (fd = open(argv[1], O_RDONLY)) < 0 || fstat(fd, &file)) return 1;
  bytes = (size_t)file.st_size;
  data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return 1;
  if (!strcmp(argv[2], "down")) down();
  else if (strcmp(argv[2], "through")) lookups();
  if (!strcmp(argv[2], "through") || !strcmp(argv[2], "both")) through();
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
