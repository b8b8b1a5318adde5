// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GENERATE: writes the files that the other programs of this folder map, with the data that they would make
// themselves.
#include "data.h"

enum { CHUNK = 1 << 20 };

static const char help[] =
    "usage: generate --file F --kind words|entries|keys|zeros --bytes N\n"
    "  words    for sum, update and gather\n"
    "  entries  for multiply\n"
    "  keys     for scatter\n"
    "  zeros    for the output of scatter\n";

static void make(void *chunk, const char *kind, uint64_t at) {
  if (!strcmp(kind, "words"))
    fill_words((uint64_t *)chunk, at / sizeof(uint64_t), CHUNK / sizeof(uint64_t));
  else if (!strcmp(kind, "entries"))
    fill_entries((double *)chunk, at / sizeof(double), CHUNK / sizeof(double));
  else if (!strcmp(kind, "keys"))
    fill_keys((uint32_t *)chunk, at / sizeof(uint32_t), CHUNK / sizeof(uint32_t));
  else if (!strcmp(kind, "zeros"))
    memset(chunk, 0, CHUNK);
  else
    fail("no such kind of data", kind);
}

static void put(int fd, const char *chunk, size_t bytes) {
  while (bytes) {
    ssize_t done = write(fd, chunk, bytes);
    if (done < 0)
      fail("cannot write the data", strerror(errno));
    chunk += done;
    bytes -= (size_t)done;
  }
}

int main(int argc, char **argv) {
  uint64_t bytes = 0;
  const char *file = "", *kind = "";
  const struct app_option options[] = {{"--bytes", &bytes, NULL}, {"--file", NULL, &file}, {"--kind", NULL, &kind}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "generate", help, options);
  int fd = open(file, O_WRONLY | O_CREAT, 0600); // the blocks of a file that is there are used again
  if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
    fail(file, strerror(errno));
  char *chunk = (char *)allocate(1, CHUNK);
  for (uint64_t at = 0; at < bytes; at += CHUNK) {
    make(chunk, kind, at);
    put(fd, chunk, bytes - at < CHUNK ? bytes - at : CHUNK);
  }
  if (fsync(fd) < 0 || close(fd) < 0)
    fail(file, strerror(errno));
  return 0;
}
