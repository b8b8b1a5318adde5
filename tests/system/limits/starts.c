// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills memory as fast as it can, in one of the ways in which programs do, then reads everything and prints a sum.
//
//   starts KIND MEGABYTES BLOCK_KILOBYTES [FILE]
//
// Pages are stored to as soon as they are there: whoever begins to page too late is killed by the kernel.
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kPage = 4096 };
static size_t total, block;
static const char *file;

struct Part {
  size_t first, count; ///< blocks
  char **at;
  int zeroed;
  uint64_t sum;
};

static void *fill(void *argument) {
  struct Part *p = argument;
  for (size_t i = p->first; i < p->first + p->count; ++i) {
    p->at[i] = p->zeroed ? calloc(1, block) : malloc(block);
    if (!p->at[i]) abort();
    if (p->zeroed)
      for (size_t j = 0; j < block; j += kPage) p->at[i][j] = (char)(i + j / kPage);
    else memset(p->at[i], (int)(i * 7 + 1), block);
  }
  return NULL;
}

static void *sum_up(void *argument) {
  struct Part *p = argument;
  for (size_t i = p->first; i < p->first + p->count; ++i)
    for (size_t j = 0; j < block; j += kPage) p->sum = p->sum * 31 + (unsigned char)p->at[i][j];
  return NULL;
}

static uint64_t blocks(int zeroed, unsigned threads) {
  const size_t n = total / block / threads * threads;
  char **at = calloc(n, sizeof *at);
  struct Part part[2];
  void *(*step[])(void *) = {fill, sum_up};
  for (unsigned t = 0; t < threads; ++t) part[t] = (struct Part){n / threads * t, n / threads, at, zeroed, 0};
  for (unsigned s = 0; s < 2; ++s) {
    pthread_t other;
    if (threads == 2) pthread_create(&other, NULL, step[s], &part[1]);
    step[s](&part[0]);
    if (threads == 2) pthread_join(other, NULL);
  }
  return part[0].sum + (threads == 2 ? part[1].sum * 3 : 0);
}

/// One array that grows by half whenever it is full: by realloc, or as C++ vectors do, by a copy.
static uint64_t grow(int copy) {
  size_t room = block / 8, n = 0;
  uint64_t *a = malloc(room * 8), sum = 0;
  for (; n < total / 8; ++n) {
    if (n == room) {
      const size_t wider = room + room / 2;
      uint64_t *b = copy ? malloc(wider * 8) : realloc(a, wider * 8);
      if (!b) abort();
      if (copy) memcpy(b, a, room * 8), free(a);
      a = b, room = wider;
    }
    a[n] = n * 0x9e3779b97f4a7c15u;
  }
  for (size_t i = 0; i < n; i += kPage / 8) sum = sum * 31 + a[i];
  return sum;
}

/// Large columns, and between them many small objects that stay: strings, list cells, environments. The small ones cannot be
/// paged, and are a tenth of the whole.
static uint64_t columns(void) {
  const size_t n = total / block, small = block / 10 / 200;
  char **at = calloc(n, sizeof *at), ***objects = calloc(n, sizeof *objects);
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    memset(at[i] = malloc(block - block / 10), (int)i + 1, block - block / 10);
    objects[i] = malloc((small + 1) * sizeof **objects);
    for (size_t k = 0; k < small; ++k) memset(objects[i][k] = malloc(184), (int)(i + k), 184);
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < block - block / 10; j += kPage) sum = sum * 31 + (unsigned char)at[i][j];
    for (size_t k = 0; k < small; ++k) sum = sum * 31 + (unsigned char)objects[i][k][7];
  }
  return sum;
}

/// Each array that stays is made from two that do not, as array expressions are.
static uint64_t temporaries(void) {
  const size_t n = total / block, words = block / 8;
  uint64_t **at = calloc(n, sizeof *at), sum = 0;
  for (size_t i = 0; i < n; ++i) {
    uint64_t *a = malloc(block), *b = malloc(block);
    at[i] = malloc(block);
    for (size_t j = 0; j < words; ++j) a[j] = i + j;
    for (size_t j = 0; j < words; ++j) b[j] = a[j] * 3;
    for (size_t j = 0; j < words; ++j) at[i][j] = a[j] ^ b[j];
    free(a), free(b);
  }
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < words; j += kPage / 8) sum = sum * 31 + at[i][j];
  return sum;
}

/// A mapped file is read beside the blocks, a piece of it for each.
static uint64_t beside_file(void) {
  struct stat about;
  const int fd = open(file, O_RDONLY);
  if (fd < 0 || fstat(fd, &about)) abort();
  const size_t bytes = (size_t)about.st_size, n = total / block;
  const unsigned char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  char **at = calloc(n, sizeof *at);
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    memset(at[i] = malloc(block), (int)(i * 7 + 1), block);
    for (size_t j = bytes / n * i; j < bytes / n * (i + 1); j += kPage) sum = sum * 31 + map[j];
  }
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < block; j += kPage) sum = sum * 31 + (unsigned char)at[i][j];
  return sum;
}

/// A file is read into one block, a piece of `block` bytes with each call.
static uint64_t read_file(void) {
  struct stat about;
  const int fd = open(file, O_RDONLY);
  if (fd < 0 || fstat(fd, &about)) abort();
  const size_t bytes = (size_t)about.st_size;
  char *at = malloc(bytes);
  uint64_t sum = 0;
  for (size_t have = 0; have < bytes;) {
    const ssize_t got = read(fd, at + have, bytes - have < block ? bytes - have : block);
    if (got <= 0) abort();
    have += (size_t)got;
  }
  for (size_t j = 0; j < bytes; j += kPage) sum = sum * 31 + (unsigned char)at[j];
  return sum;
}

int main(int n, char **v) {
  if (n < 4) return 2;
  total = (size_t)atol(v[2]) << 20;
  block = (size_t)atol(v[3]) << 10;
  file = n > 4 ? v[4] : NULL;
  const char *kind = v[1];
  uint64_t sum;
  if (!strcmp(kind, "blocks")) sum = blocks(0, 1);
  else if (!strcmp(kind, "zeroed")) sum = blocks(1, 1);
  else if (!strcmp(kind, "threads")) sum = blocks(0, 2);
  else if (!strcmp(kind, "vector")) sum = grow(0);
  else if (!strcmp(kind, "copies")) sum = grow(1);
  else if (!strcmp(kind, "columns")) sum = columns();
  else if (!strcmp(kind, "temporaries")) sum = temporaries();
  else if (!strcmp(kind, "file") && file) sum = beside_file();
  else if (!strcmp(kind, "read") && file) sum = read_file();
  else return 2;
  printf("%016lx\n", (unsigned long)sum);
  return 0;
}
