// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PERMUTE: shuffles an array in place, by swaps with places in no order, and sums it up in the new order.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

static const char help[] = "usage: permute --memory-size TOTAL [--times]\n"
                           "Shuffles an array of 64-byte records; prints a sum.\n"
                           "  --memory-size TOTAL  bytes of the array (units K, M, G are binary)\n";

struct record {
  uint64_t word[8];
};

int main(int argc, char **argv) {
  uint64_t bytes = 0, state = 88172645463325252u, sum = 0;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "permute", help, options);
  const size_t n = bytes / sizeof(struct record);
  struct record *a = (struct record *)allocate(n, sizeof *a);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < 8; k++) a[i].word[k] = i * 8 + k;
  phase("fill");
  for (size_t i = n - 1; i > 0; i--) {
    const size_t j = next_random(&state) % (i + 1);
    const struct record r = a[i];
    a[i] = a[j];
    a[j] = r;
  }
  phase("permute");
  for (size_t i = 0; i < n; i++) sum = sum * 31 + a[i].word[3];
  phase("sum");
  printf("sum: %016llx\n", (unsigned long long)sum);
  return 0;
}
