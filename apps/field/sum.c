// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SUM: adds the words of an array, in order. The access that every system is good at.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "words.h"

static const char help[] =
    "usage: sum --memory-size TOTAL [--file F] [--sweeps 1] [--times]\n"
    "Adds 64-bit words; prints how many there are and their sum.\n"
    "  --memory-size TOTAL  bytes of the array (units K, M, G are binary)\n"
    "  --file F             the array is this file, mapped; else memory, filled first\n"
    "  --sweeps N           over the array\n"
    "  --times              seconds of each phase, on stderr; the pass is what is measured\n";

int main(int argc, char **argv) {
  uint64_t bytes = 0, sweeps = 1, total = 0;
  const char *file = NULL;
  const struct app_option options[] = {
      {"--memory-size", &bytes, NULL}, {"--sweeps", &sweeps, NULL}, {"--file", NULL, &file}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "sum", help, options);
  size_t n = bytes / sizeof(uint64_t);
  uint64_t *a = array_of_words(file, bytes, 0);
  phase("data");
  for (uint64_t i = 0; i < sweeps; i++)
    total += sum(a, n);
  phase("pass");
  printf("words: %zu\nsum: %016llx\n", n, (unsigned long long)total);
  return 0;
}
