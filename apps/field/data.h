// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of the five programs of this folder: what they are, in memory of the program's own or mapped from a
// file that generate.c wrote. A program prints the same for both, and so do the programs of byhand/.
#ifndef APPS_FIELD_DATA_H
#define APPS_FIELD_DATA_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // ftruncate, msync, O_DIRECT beside -std=c11
#endif
#include "../common.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/// The i-th of a sequence of well mixed words (the finalizer of splitmix64).
static inline uint64_t mixed(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// Small whole numbers: sums of their products are exact, in whatever order they are added.
static inline double entry(uint64_t i) { return (double)(mixed(i) & 1023); }

static inline void fill_words(uint64_t *a, uint64_t first, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] = mixed(first + i);
}

static inline void fill_entries(double *a, uint64_t first, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] = entry(first + i);
}

static inline void fill_keys(uint32_t *a, uint64_t first, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] = (uint32_t)(mixed(first + i) >> 32);
}

static inline int open_file(const char *file, int flags, size_t bytes) {
  struct stat is;
  int fd = open(file, flags);
  if (fd < 0 || fstat(fd, &is) < 0)
    fail(file, strerror(errno));
  if ((uint64_t)is.st_size < bytes)
    fail(file, "shorter than the size that was asked for");
  return fd;
}

/// The first `bytes` of a file, for reading or for reading and writing.
static inline void *map_file(const char *file, size_t bytes, int writes) {
  int fd = open_file(file, writes ? O_RDWR : O_RDONLY, bytes);
  void *data = mmap(NULL, bytes, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED)
    fail(file, strerror(errno));
  close(fd);
  return data;
}

/// An array of words: the first `bytes` of a file, mapped; without a file, memory that holds what generate.c writes.
static inline uint64_t *array_of_words(const char *file, size_t bytes, int writes) {
  if (file)
    return (uint64_t *)map_file(file, bytes, writes);
  size_t n = bytes / sizeof(uint64_t);
  uint64_t *a = (uint64_t *)allocate(n, sizeof *a);
  fill_words(a, 0, n);
  return a;
}

/// What was stored to a mapped file is in the file, on the disk, when this returns.
static inline void store_file(void *data, size_t bytes) {
  if (msync(data, bytes, MS_SYNC) < 0)
    fail("the file was not written", strerror(errno));
}

/// Where the next of the random accesses goes: with probability hot / 1000 into the first tenth of n, else
/// anywhere.
static inline uint64_t random_place(uint64_t *state, uint64_t n, uint64_t hot) {
  uint64_t draw = next_random(state) >> 20, range = draw % 1000 < hot ? n / 10 : n;
  return (next_random(state) >> 11) % range;
}

#endif
