// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GATHER: reads words of an array at places that only the data know. With --hot, most of them are in a tenth of
// the array, which fits in memory where the whole does not.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "data.h"

static const char help[] =
    "usage: gather --memory-size TOTAL [--file F] [--count 200000] [--hot 0] [--times]\n"
    "Adds 64-bit words at random places of an array; prints how many and their sum.\n"
    "  --memory-size TOTAL  bytes of the array (units K, M, G are binary)\n"
    "  --file F             the array is this file, mapped; else memory, filled first\n"
    "  --count N            words that are read\n"
    "  --hot N              of a thousand, the words that are in the first tenth of the array; the rest is anywhere\n"
    "  --seed S             of the places\n"
    "  --times              seconds of each phase, on stderr; the pass is what is measured\n";

static uint64_t gather(const uint64_t *a, const uint64_t *place, size_t count) {
  uint64_t total = 0;
  for (size_t i = 0; i < count; i++)
    total += a[place[i]];
  return total;
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, count = 200000, hot = 0, seed = 1;
  const char *file = NULL;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {"--count", &count, NULL}, {"--hot", &hot, NULL},
                                       {"--seed", &seed, NULL},         {"--file", NULL, &file},   {NULL, NULL, NULL}};
  parse_options(argc, argv, "gather", help, options);
  size_t n = bytes / sizeof(uint64_t);
  if (n < 10)
    fail("--memory-size is too small", "ten words are needed");
  uint64_t *a = array_of_words(file, bytes, 0);
  uint64_t *place = (uint64_t *)allocate(count, sizeof *place), state = mixed(seed);
  for (size_t i = 0; i < count; i++)
    place[i] = random_place(&state, n, hot);
  phase("data");
  uint64_t total = gather(a, place, count);
  phase("pass");
  printf("words: %llu\nsum: %016llx\n", (unsigned long long)count, (unsigned long long)total);
  return 0;
}
