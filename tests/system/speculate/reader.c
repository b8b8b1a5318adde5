// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waits for a line, and reads twenty blocks, a megabyte apart: reader FILE FIRST. With "bare" it has neither a vdso nor zeros behind its
// instructions, with "novdso" only the latter.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// Takes away what a few instructions could be written to.
static void take_room(int all) {
  static char text[1 << 16];
  const int maps = open("/proc/self/maps", O_RDONLY);
  size_t length = 0;
  for (ssize_t n; (n = read(maps, text + length, sizeof text - 1 - length)) > 0;) length += (size_t)n;
  close(maps);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    unsigned long begin, end;
    char rights[5];
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3 || strcmp(rights, "r-xp") || strstr(line, "[vsyscall]")) continue;
    if (strstr(line, "[vdso]")) {
      munmap((void *)begin, end - begin);
      continue;
    }
    if (!all || mprotect((void *)(end - 4096), 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) continue;
    for (unsigned char *at = (unsigned char *)end - 1; *at == 0; at--) *at = 0xcc;
    mprotect((void *)(end - 4096), 4096, PROT_READ | PROT_EXEC);
  }
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  if (count > 3) take_room(!strcmp(arguments[3], "bare"));
  const int file = open(arguments[1], O_RDONLY);
  char block[4096], line[16];
  if (read(STDIN_FILENO, line, sizeof line) <= 0) return 3;
  long sum = 0;
  for (int i = 0; i < 20; i++) sum += pread(file, block, sizeof block, (off_t)(atoi(arguments[2]) + i) << 20);
  printf("%ld\n", sum);
  return 0;
}
