// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// UPDATE: reads, changes and writes every word of an array, in order. As much is written as is read.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "words.h"

static const char help[] =
    "usage: update --memory-size TOTAL [--file F] [--times]\n"
    "Changes every 64-bit word of an array; prints how many there are and a checksum of what was there.\n"
    "  --memory-size TOTAL  bytes of the array (units K, M, G are binary)\n"
    "  --file F             the array is this file, mapped, and the pass ends when it is on the disk; else memory,\n"
    "                       filled first\n"
    "  --times              seconds of each phase, on stderr; the pass is what is measured\n";

int main(int argc, char **argv) {
  uint64_t bytes = 0;
  const char *file = NULL;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {"--file", NULL, &file}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "update", help, options);
  size_t n = bytes / sizeof(uint64_t);
  uint64_t *a = array_of_words(file, bytes, 1);
  phase("data");
  uint64_t before = update(a, n);
  if (file)
    store_file(a, bytes);
  phase("pass");
  size_t wrong = differing(a, 0, n);
  phase("check");
  printf("words: %zu\nbefore: %016llx\n", n, (unsigned long long)before);
  return verification(wrong == 0);
}
