// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hundred gigabytes of address space, a page here and there.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(void) {
  const size_t bytes = (size_t)100 << 30, step = bytes / 700;
  unsigned char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  uint64_t h = 0;
  if (p == MAP_FAILED) return puts("no address space"), 0;
  for (int round = 0; round < 2; round++)
    for (size_t at = 0; at + 8 < bytes; at += step) {
      uint64_t *word = (uint64_t *)(p + (at & ~(size_t)7));
      h = h * 31 + *word;
      *word += at;
    }
  // One dense part.
  for (size_t i = 0; i < (size_t)96 << 20; i += 512) p[bytes / 2 + i] = (unsigned char)(i >> 9);
  for (size_t i = 0; i < (size_t)96 << 20; i += 512) h = h * 31 + p[bytes / 2 + i];
  if (munmap(p, bytes)) return 1;
  printf("%016llx\n", (unsigned long long)h);
  return 0;
}
