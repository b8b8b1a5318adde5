// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SUM by hand: the file in large direct reads, many under way.
#include "../words.h"
#include "stream.h"

static const char help[] = "usage: sum --memory-size TOTAL --file F [--times]\nSee ../sum.c.\n";

int main(int argc, char **argv) {
  uint64_t bytes = 0, total = 0;
  size_t got;
  const char *file = "";
  const char *block;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {"--file", NULL, &file}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "sum", help, options);
  struct stream s;
  bytes -= bytes % sizeof(uint64_t);
  stream_open(&s, file, 0, bytes);
  phase("data");
  stream_start(&s, 0, bytes);
  while ((block = stream_next(&s, &got)))
    total += sum((const uint64_t *)block, got / sizeof(uint64_t));
  phase("pass");
  stream_close(&s);
  printf("words: %zu\nsum: %016llx\n", (size_t)(bytes / sizeof(uint64_t)), (unsigned long long)total);
  return 0;
}
