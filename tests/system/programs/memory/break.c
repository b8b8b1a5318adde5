// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A heap that grows by sbrk(), as tcmalloc's does: steps of odd sizes, between which the C library's heap may take some, too. A
// part of the last one is given back, and taken again.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
enum { kPieces = 48 };
static unsigned char *piece[kPieces];

static size_t size_of(unsigned i) { return MB + i % 3 * 4096 + 48; }

int main(void) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned i = 0; i < kPieces; ++i) {
    piece[i] = sbrk((intptr_t)size_of(i));
    if (piece[i] == (void *)-1) return 1;
    for (size_t k = 0; k < size_of(i); k += 64) piece[i][k] = (unsigned char)(k * 7 + (k >> 12) + i);
  }
  const size_t whole_pages = 128 * 4096;
  unsigned char *end = piece[kPieces - 1] + size_of(kPieces - 1);
  if (sbrk(0) == end && sbrk(-(intptr_t)whole_pages) == end) {
    if (sbrk((intptr_t)whole_pages) != end - whole_pages) return 2;
  } else {
    return 3;
  }
  for (int turn = 0; turn < 2; ++turn)
    for (unsigned i = 0; i < kPieces; ++i)
      for (size_t k = 0; k < size_of(i); k += 64)
        // What was given back is zero now, but for what shares a page with what was not.
        if (i < kPieces - 1 || k + whole_pages + 4096 < size_of(i)) hash = (hash ^ piece[i][k]) * 1099511628211u;
        else if (k + whole_pages - 4096 > size_of(i) && k + 8192 < size_of(i) && piece[i][k]) return 4;
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
