// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes that share what they store to, since a fork.
//
//   forks MEGABYTES CHILDREN PARTS PARENT
//
// An array is filled, and each of the children stores to its part of it, one in PARTS; so does the parent to all, if PARENT is 1.
// Each prints the sum of all that it sees. The parent waits for nobody before it is done.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kWords = 8 }; ///< between stores: a line of the cache
static size_t n;
static uint64_t *a;

static void store(size_t from, size_t to, uint64_t by) {
  for (int round = 0; round < 2; ++round)
    for (size_t i = from; i < to; i += kWords) a[i] = a[i] * 5 + by;
}

static uint64_t sum(void) {
  uint64_t s = 0;
  for (size_t i = 0; i < n; i += kWords) s = s * 31 + a[i];
  return s;
}

int main(int count, char **arguments) {
  if (count != 5) return 2;
  n = (size_t)atoi(arguments[1]) << 17;
  const int children = atoi(arguments[2]), parts = atoi(arguments[3]), stores = atoi(arguments[4]);
  int from[64], bad = 0, status;
  a = malloc(n * sizeof *a);
  for (size_t i = 0; i < n; ++i) a[i] = i * 0x9e3779b97f4a7c15u;
  for (int k = 0; k < children; ++k) {
    int ends[2];
    if (pipe(ends)) abort();
    if (fork() == 0) {
      const size_t part = n / (size_t)parts, first = part * (size_t)(k % parts);
      store(first, first + part, (uint64_t)k + 1);
      const uint64_t s = sum();
      _exit(write(ends[1], &s, sizeof s) != sizeof s);
    }
    close(ends[1]);
    from[k] = ends[0];
  }
  if (stores) store(0, n, 99);
  printf("%016llx", (unsigned long long)sum());
  for (int k = 0; k < children; ++k) {
    uint64_t s = 0;
    bad |= read(from[k], &s, sizeof s) != sizeof s;
    printf(" %016llx", (unsigned long long)s);
  }
  while (wait(&status) > 0) bad |= status != 0;
  puts(bad ? " and a child failed" : "");
  return bad;
}
