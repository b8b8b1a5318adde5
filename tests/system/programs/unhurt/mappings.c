// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program may do to mappings whose pages are partly on the disk: move, cut, grow, replace, advise, a thousand
// of them.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
static uint64_t hash = 14695981039346656037u;

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static unsigned char *map(size_t n) {
  unsigned char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(p != MAP_FAILED, "mmap");
  return p;
}

static void fill(unsigned char *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) p[i] = (unsigned char)(i * 5 + (i >> 11) + seed);
}

static void absorb(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 1099511628211u;
}

static void moving(void) {
  unsigned char *a = map(24 * MB), *b = map(20 * MB);
  fill(a, 24 * MB, 1), fill(b, 20 * MB, 2);
  // Onto a part of another one.
  unsigned char *moved = mremap(a + 4 * MB, 8 * MB, 8 * MB, MREMAP_MAYMOVE | MREMAP_FIXED, b + 6 * MB);
  check(moved == b + 6 * MB, "mremap over a part");
  absorb(b, 20 * MB), absorb(a, 4 * MB), absorb(a + 12 * MB, 12 * MB);
  fill(moved, 8 * MB, 3);
  // Leaving the old place, empty.
  unsigned char *twin = mremap(b, 4 * MB, 4 * MB, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
  check(twin != MAP_FAILED && twin != b, "mremap without unmapping");
  absorb(twin, 4 * MB), absorb(b, 20 * MB);
  fill(b, 4 * MB, 4);
  // Over what the kernel knows and the pager does not, and back.
  unsigned char *small = mmap(NULL, 8 * MB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(mremap(twin, 4 * MB, 6 * MB, MREMAP_MAYMOVE | MREMAP_FIXED, small) == small, "mremap, growing");
  absorb(small, 6 * MB);
  check(mremap(small, 6 * MB, 2 * MB, 0) == small, "shrinking in place");
  absorb(small, 2 * MB);
  // What is refused changes nothing.
  check(mremap(a, 4 * MB, 4 * MB, MREMAP_MAYMOVE | MREMAP_FIXED, a + MB) == MAP_FAILED, "mremap onto itself");
  check(mremap(b + 1, 4 * MB, 8 * MB, MREMAP_MAYMOVE) == MAP_FAILED, "mremap of no page");
  absorb(a, 4 * MB), absorb(b, 20 * MB);
  munmap(a, 24 * MB), munmap(b, 20 * MB), munmap(small, 8 * MB);
}

static void cutting(void) {
  unsigned char *a = map(32 * MB);
  fill(a, 32 * MB, 5);
  check(!munmap(a + 3 * MB, 4096), "a page of it");
  check(mmap(a + 8 * MB, 2 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a + 8 * MB, "over it");
  check(mmap(a + 12 * MB, MB, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a + 12 * MB, "shared over it");
  check(!mprotect(a + 16 * MB, 4 * MB, PROT_READ), "read only");
  check(!mprotect(a + 20 * MB, 4 * MB, PROT_NONE), "unreadable");
  unsigned char *noise = map(24 * MB);
  fill(noise, 24 * MB, 6); // everything goes to the disk
  absorb(a, 3 * MB), absorb(a + 3 * MB + 4096, 17 * MB - 4096);
  check(!mprotect(a + 16 * MB, 8 * MB, PROT_READ | PROT_WRITE), "as before");
  fill(a + 18 * MB, MB, 7);
  absorb(a + 16 * MB, 16 * MB);
  munmap(noise, 24 * MB), munmap(a, 32 * MB);
}

static void advising(void) {
  static const int harmless[] = {MADV_WILLNEED, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_SEQUENTIAL, MADV_RANDOM, MADV_NORMAL, MADV_DONTFORK,
                                 MADV_DOFORK, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_DONTDUMP, MADV_DODUMP, 20, 21, 22, 23, 25};
  unsigned char *a = map(32 * MB);
  fill(a, 32 * MB, 8);
  for (unsigned i = 0; i < sizeof harmless / sizeof *harmless; i++) madvise(a + i * MB, MB, harmless[i]);
  absorb(a, 32 * MB);
  check(!madvise(a + 5 * MB, 3 * MB, MADV_DONTNEED), "dontneed");
  check(madvise(a, MB, MADV_REMOVE) && errno == EINVAL, "remove");
  check(!msync(a, MB, MS_SYNC), "msync");
  absorb(a, 32 * MB);
  fill(a + 5 * MB, 3 * MB, 9);
  absorb(a + 4 * MB, 5 * MB);
  munmap(a, 32 * MB);
}

static void thousand(void) {
  static unsigned char *piece[1000];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 1000; i++) {
      if (round && i % 3) continue;
      piece[i] = map(MB);
      for (size_t at = 0; at < MB; at += MB / 8) memset(piece[i] + at, i + round, 100);
    }
    for (int i = 0; i < 1000; i++)
      for (size_t at = 0; at < MB; at += MB / 8) absorb(piece[i] + at, 101);
    for (int i = 0; i < 1000; i += round ? 1 : 3) munmap(piece[i], MB);
  }
}

int main(void) {
  moving();
  cutting();
  advising();
  thousand();
  // The break may be moved beside the C library's heap, and back.
  unsigned char *top = sbrk(8 * MB);
  check(top != (void *)-1, "sbrk");
  fill(top, 8 * MB, 1), absorb(top, 8 * MB);
  check(sbrk(-(intptr_t)(8 * MB)) == top + 8 * MB, "sbrk back");
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
