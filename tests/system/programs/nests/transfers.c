// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memcpy, memmove and memset of any length, to places that overlap and that do not, alone and in rows.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define BYTES ((size_t)32 << 20)

static unsigned long state = 88172645463325252ul;
static size_t below(size_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % limit;
}

NOINLINE void move_rows(char *to, const char *from, size_t rows, size_t bytes, size_t pitch) {
  for (size_t r = 0; r < rows; r++)
    memmove(to + r * pitch, from + r * pitch, bytes);
}

NOINLINE void copy_rows(char *to, const char *from, size_t rows, size_t bytes, size_t pitch) {
  for (size_t r = 0; r < rows; r++)
    memcpy(to + r * pitch, from + (rows - 1 - r) * pitch, bytes);
}

NOINLINE void fill_rows(char *to, int value, size_t rows, size_t bytes, size_t pitch) {
  for (size_t r = 0; r < rows; r++)
    memset(to + r * pitch, value, bytes);
}

static void one(char *a, char *b, int value) {
  const size_t n = value % 17 ? 1 + below(value % 3 ? 3000000 : 20000000) : 0;
  const size_t from = below(BYTES - n), to = below(BYTES - n), pitch = below(9000) + 1, rows = n / pitch;
  size_t near = from + below(100000);
  if (near > BYTES - n)
    near = BYTES - n;
  switch (below(8)) {
  case 0: memcpy(a + to, b + from, n); break;
  case 1: memmove(a + near, a + from, n); break;
  case 2: memmove(a + from, a + near, n); break;
  case 3: memset(b + to, value, n); break;
  case 4: memmove(b + to, b + from, n); break;
  case 5: move_rows(a + to, a + from, rows, pitch * below(4) / 3, pitch); break;
  case 6: copy_rows(a + to, b + from, rows, pitch * below(4) / 3, pitch); break;
  case 7: fill_rows(b + to, value, rows, pitch * below(4) / 3, pitch); break;
  }
}

int main(void) {
  char *a = malloc(BYTES), *b = malloc(BYTES);
  if (!a || !b)
    return 1;
  for (size_t i = 0; i < BYTES / sizeof(long); i++) {
    ((long *)a)[i] = (long)(i * 2654435761u);
    ((long *)b)[i] = (long)i;
  }
  for (int value = 0; value < 150; value++)
    one(a, b, value);
  unsigned long hash = 0;
  for (size_t i = 0; i < BYTES; i++)
    hash = ((hash ^ (unsigned char)a[i]) * 1099511628211ul) ^ (unsigned char)b[i];
  printf("%lx\n", hash);
}
