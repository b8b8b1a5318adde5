// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Locked memory stays; what is paged cannot be locked and stays as it is.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MB ((size_t)1 << 20)

int main(int argc, char **argv) {
  const int all = argc > 1 && !strcmp(argv[1], "all");
  unsigned long sum = 0;
  char *secret = aligned_alloc(4096, 2 * MB);
  if (!secret) return 1;
  memset(secret, 7, 2 * MB);
  printf("secret %d\n", mlock(secret, 2 * MB));
  if (all) printf("all %d\n", mlockall(MCL_CURRENT));
  char *data = malloc(40 * MB);
  if (!data) return 1;
  for (size_t i = 0; i < 40 * MB; i++) data[i] = (char)(i * 3 + (i >> 13));
  const int one = mlock(data + MB, 30 * MB), two = mlock2(data, 4096, 0), three = all ? 0 : mlockall(MCL_CURRENT);
  if (argc > 1) fprintf(stderr, "%d %d %d\n", one, two, three);
  unsigned char there[512] = {0};
  mincore(secret, 2 * MB, there);
  for (int i = 0; i < 512; i++) sum += there[i] & 1;
  printf("resident %lu\n", sum);
  for (size_t i = 0; i < 40 * MB; i++) sum = sum * 31 + (unsigned char)data[i];
  munlock(data, 40 * MB);
  free(secret);
  printf("%016lx\n", sum);
  return 0;
}
