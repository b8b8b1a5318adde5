// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heaps that reserve address space and commit it by pieces. One maps each piece over what it has reserved, and maps that over
// again when it gives the piece back, as Java's does; one changes protections and advises, as others do.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)
static uint64_t hash = 14695981039346656037u;

static void check(int ok, const char *what) {
  if (!ok) perror(what), exit(1);
}

static unsigned char *reserve(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(p != MAP_FAILED, "reserve");
  return p;
}

static void map_over(unsigned char *p, size_t bytes, int prot) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | (prot == PROT_NONE ? MAP_NORESERVE : 0);
  check(mmap(p, bytes, prot, flags, -1, 0) == p, "mapping over it");
}

static void fill(unsigned char *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i += 64) p[i] = (unsigned char)(i * 7 + (i >> 12) + seed);
}

static void absorb(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i += 64) hash = (hash ^ p[i]) * 1099511628211u;
}

static void by_mapping(void) {
  enum { kPieces = 24 };
  unsigned char *heap = reserve(512 * MB);
  for (int i = 0; i < kPieces; ++i) {
    map_over(heap + i * 2 * MB, 2 * MB, PROT_READ | PROT_WRITE);
    fill(heap + i * 2 * MB, 2 * MB, (unsigned)i);
  }
  absorb(heap, kPieces * 2 * MB);
  map_over(heap + 11 * MB, 6 * MB, PROT_NONE); // given back, across pieces
  absorb(heap, 11 * MB);
  map_over(heap + 12 * MB, 3 * MB, PROT_READ | PROT_WRITE); // zero again
  absorb(heap + 12 * MB, 3 * MB);
  fill(heap + 12 * MB, 3 * MB, 99);
  map_over(heap + 40 * MB, 2 * MB, PROT_READ | PROT_WRITE); // over what is there: zero
  absorb(heap + 12 * MB, 3 * MB);
  absorb(heap + 17 * MB, 31 * MB);
  map_over(heap + 200 * MB, 2 * MB, PROT_READ | PROT_WRITE); // far from the others
  fill(heap + 200 * MB, 2 * MB, 5);
  absorb(heap + 200 * MB, 2 * MB);
  check(!munmap(heap, 512 * MB), "munmap");
}

static void by_protection(void) {
  unsigned char *wide = reserve(96 * MB), *heap = (unsigned char *)(((uintptr_t)wide + 32 * MB - 1) & ~(uintptr_t)(32 * MB - 1));
  check(heap == wide || !munmap(wide, (size_t)(heap - wide)), "what is before the aligned part");
  for (size_t at = 0; at < 40 * MB; at += 64 * KB) {
    check(!mprotect(heap + at, 64 * KB, PROT_READ | PROT_WRITE), "committing");
    fill(heap + at, 64 * KB, (unsigned)(at >> 16));
  }
  check(!madvise(heap + 4 * MB, 8 * MB, MADV_DONTNEED), "madvise");
  absorb(heap, 40 * MB);
  check(!madvise(heap + 20 * MB, 8 * MB, MADV_FREE), "free");
  fill(heap + 20 * MB, 8 * MB, 3);
  check(!mprotect(heap + 30 * MB, 4 * MB, PROT_NONE), "taking back");
  absorb(heap, 30 * MB);
  check(!mprotect(heap + 30 * MB, 4 * MB, PROT_READ | PROT_WRITE), "committing again");
  absorb(heap + 30 * MB, 10 * MB); // as it was
}

int main(void) {
  by_mapping();
  by_protection();
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
