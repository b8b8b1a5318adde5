// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// UPDATE by hand: each block is written back from where it was read to and changed. The file must be a whole number
// of pages.
#include "../words.h"
#include "stream.h"

static const char help[] = "usage: update --memory-size TOTAL --file F [--times]\nSee ../update.c.\n";

static uint64_t update_file(const char *file, uint64_t bytes) {
  struct stream s;
  uint64_t before = 0;
  size_t got;
  char *block;
  stream_open(&s, file, 1, bytes);
  phase("data");
  stream_start(&s, 0, bytes);
  while ((block = stream_next(&s, &got)))
    before ^= update((uint64_t *)block, got / sizeof(uint64_t));
  stream_close(&s);
  phase("pass");
  return before;
}

static size_t check_file(const char *file, uint64_t bytes) {
  struct stream s;
  size_t got, wrong = 0;
  uint64_t first = 0;
  const char *block;
  stream_open(&s, file, 0, bytes);
  stream_start(&s, 0, bytes);
  while ((block = stream_next(&s, &got))) {
    wrong += differing((const uint64_t *)block, first, got / sizeof(uint64_t));
    first += got / sizeof(uint64_t);
  }
  stream_close(&s);
  phase("check");
  return wrong;
}

int main(int argc, char **argv) {
  uint64_t bytes = 0;
  const char *file = "";
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {"--file", NULL, &file}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "update", help, options);
  if (bytes % PAGE)
    fail("--memory-size", "not a whole number of pages");
  uint64_t before = update_file(file, bytes);
  printf("words: %zu\nbefore: %016llx\n", (size_t)(bytes / sizeof(uint64_t)), (unsigned long long)before);
  return verification(check_file(file, bytes) == 0);
}
