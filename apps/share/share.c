// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHARE: two arrays, one of which is updated from the other, sweep by sweep. Who watches from outside sees how much of them is
// in memory: the first line says where they are, the second that both have been stored to once.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

static const char help[] = "usage: share --memory-size TOTAL [--sweeps 4] [--random 1]\n"
                           "Updates one array from another; prints where they are, when they are filled, and a sum.\n"
                           "  --memory-size TOTAL  bytes of both arrays (units K, M, G are binary)\n"
                           "  --sweeps N           over both\n"
                           "  --random 1           words of the other array in no order, of which each sweep takes one in 512\n";

int main(int argc, char **argv) {
  uint64_t bytes = 0, sweeps = 4, any_order = 0, sum = 0, state = 1;
  const struct app_option options[] = {
      {"--memory-size", &bytes, NULL}, {"--sweeps", &sweeps, NULL}, {"--random", &any_order, NULL}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "share", help, options);
  const size_t n = bytes / 2 / sizeof(uint64_t);
  uint64_t *a = (uint64_t *)allocate(n, sizeof *a), *b = (uint64_t *)allocate(n, sizeof *b);
  printf("arrays: %llx %llx %zu\n", (unsigned long long)(uintptr_t)a, (unsigned long long)(uintptr_t)b, n * sizeof *a);
  fflush(stdout);
  for (size_t i = 0; i < n; i++) a[i] = i * 3, b[i] = i;
  puts("filled");
  fflush(stdout);
  for (uint64_t s = 0; s < sweeps; s++) {
    if (any_order)
      for (size_t i = 0; i < n / 512; i++) a[next_random(&state) % n] += b[next_random(&state) % n];
    else
      for (size_t i = 0; i < n; i++) a[i] += b[i] ^ s;
  }
  for (size_t i = 0; i < n; i++) sum = sum * 31 + a[i];
  printf("sum: %016llx\n", (unsigned long long)sum);
  return 0;
}
