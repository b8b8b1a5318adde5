// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Large reads into paged memory, by each way to read: pieces FILE. Makes the file, in which each word is its own number.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kWords = 5 << 20, kBytes = kWords * 8, kRecord = 1 << 20, kRecords = kBytes / kRecord };
static uint64_t *data;
static int file;
static int seen[kRecords];

static void fail(const char *what) {
  printf("%s\n", what);
  exit(1);
}

static void expect(int good, const char *what) {
  if (!good) fail(what);
}

/// Whether `bytes` at `at` are those of the file from `from`.
static int is_part(const void *at, size_t bytes, size_t from) {
  const unsigned char *c = at;
  for (size_t i = 0; i < bytes; i++) {
    const uint64_t word = (from + i) / 8;
    if (c[i] != (unsigned char)(word >> (from + i) % 8 * 8)) return 0;
  }
  return 1;
}

/// How many pages of the file come into memory where the first is read. `advice`: what the program has chosen before; `large`: then
/// it has read 2 MiB at once.
static int brought(const char *path, char *to, int advice, int large) {
  enum { kPage = 4096, kLook = 64 };
  const int own = open(path, O_RDONLY);
  unsigned char there[kLook];
  int count = 0;
  expect(posix_fadvise(own, 0, 0, advice) == 0, "posix_fadvise");
  if (large) expect(pread(own, to, 2 << 20, 0) == 2 << 20, "a large read after advice");
  fdatasync(own);
  posix_fadvise(own, 0, 0, POSIX_FADV_DONTNEED);
  expect(pread(own, to, kPage, 0) == kPage, "a small read");
  void *view = mmap(NULL, kLook * kPage, PROT_READ, MAP_SHARED, own, 0);
  expect(view != MAP_FAILED && mincore(view, kLook * kPage, there) == 0, "mincore");
  for (int i = 0; i < kLook; i++) count += there[i] & 1;
  munmap(view, kLook * kPage);
  close(own);
  return count;
}

/// Takes records until there are none; each must be in one piece, whoever else reads.
static void *take(void *to) {
  uint64_t *record = to;
  ssize_t got;
  while ((got = read(file, record, kRecord)) > 0) {
    expect(got == kRecord && record[0] * 8 % kRecord == 0, "a record that begins elsewhere");
    const size_t number = record[0] * 8 / kRecord;
    expect(is_part(record, kRecord, number * kRecord), "a record of two parts");
    __atomic_add_fetch(&seen[number], 1, __ATOMIC_RELAXED);
  }
  expect(got == 0, "no end");
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  data = malloc(2 * (size_t)kBytes);
  for (size_t i = 0; i < kWords; i++) data[i] = i;
  file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (size_t done = 0; done < kBytes;) done += (size_t)write(file, (char *)data + done, kBytes - done);
  memset(data, 1, 2 * (size_t)kBytes); // more than the budget, so that it is paged
  char *to = (char *)data;

  lseek(file, 0, SEEK_SET);
  expect(read(file, to, 2 * (size_t)kBytes) == kBytes && is_part(to, kBytes, 0), "read");
  expect(lseek(file, 0, SEEK_CUR) == kBytes && read(file, to, kBytes) == 0, "its end");
  expect(to[kBytes] == 1, "more than there was");
  expect(pread(file, to + 3, kBytes, kBytes - 300001) == 300001 && is_part(to + 3, 300001, kBytes - 300001), "pread");
  expect(lseek(file, 0, SEEK_CUR) == kBytes, "the place after pread");

  const struct iovec parts[] = {{to + 5, 400000}, {to + kBytes, 7}, {to + kBytes + 4096, 2 << 20}};
  lseek(file, 12345, SEEK_SET);
  expect(readv(file, parts, 3) == 400007 + (2 << 20) && is_part(to + 5, 400000, 12345) && is_part(to + kBytes, 7, 412345) &&
             is_part(to + kBytes + 4096, 2 << 20, 412352),
         "readv");
  expect(lseek(file, 0, SEEK_CUR) == 412352 + (2 << 20), "the place after readv");
  expect(preadv(file, parts, 3, kBytes - 400003) == 400003 && is_part(to + kBytes, 3, kBytes - 3), "preadv at the end");

  const int orders[] = {POSIX_FADV_RANDOM, POSIX_FADV_NORMAL, POSIX_FADV_SEQUENTIAL};
  for (int i = 0; i < 3; i++)
    expect(brought(argv[1], to, orders[i], 1) == brought(argv[1], to, orders[i], 0), "another read-ahead after a large read");

  FILE *stream = fopen(argv[1], "rb");
  expect(fgetc(stream) == 0 && fread(to, 5000007, 9, stream) == 8, "fread");
  expect(feof(stream) && is_part(to, kBytes - 1, 1), "the end of fread");
  fclose(stream);

  lseek(file, 0, SEEK_SET);
  pthread_t other;
  pthread_create(&other, NULL, take, to);
  take(to + kBytes);
  pthread_join(other, NULL);
  for (int i = 0; i < kRecords; i++) expect(seen[i] == 1, "a record twice, or never");
  printf("all there\n");
}
