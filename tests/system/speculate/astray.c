// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Goes wrong where a read gave nothing, as it does in a copy: astray HOW FILE. The file has no zeros.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void caught(int number) {
  (void)number;
  for (;;) {} // a copy that its own handler would keep alive
}

static void go_wrong(const char *how, int file) {
  volatile char *volatile nowhere = NULL;
  if (!strcmp(how, "crash")) *nowhere = 1;
  if (!strcmp(how, "caught")) signal(SIGSEGV, caught), *nowhere = 1;
  if (!strcmp(how, "loop"))
    for (;;) {}
  if (!strcmp(how, "calls"))
    for (;;) lseek(file, 0, SEEK_SET);
  if (!strcmp(how, "memory"))
    for (char *p;;)
      if ((p = malloc(1 << 20))) memset(p, 1, 1 << 20);
  if (!strcmp(how, "descriptors"))
    for (;;) open("/dev/null", O_RDONLY);
  if (!strcmp(how, "stack")) {
    volatile char large[1 << 16];
    memset((char *)large, 1, sizeof large);
    go_wrong(how, large[5] ? file : -1);
  }
  if (!strcmp(how, "old calls")) { // the numbers of 32-bit programs: 39 makes a directory
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(39), "b"(".made"), "c"(0755) : "memory");
    __asm__ volatile("syscall" : "=a"(result) : "a"(0x40000000L + 83), "D"(".made"), "S"(0755) : "rcx", "r11", "memory");
  }
  if (!strcmp(how, "abort")) abort();
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  const int file = open(arguments[2], O_RDONLY);
  static char block[8192];
  long sum = 0;
  for (int i = 0; i < 60; i++) {
    memset(block, 0, sizeof block);
    if (pread(file, block, sizeof block, (off_t)(i * 37 % 60) * 1048576) != sizeof block) return 3;
    if (!block[100]) go_wrong(arguments[1], file);
    sum += block[100];
  }
  printf("%ld\n", sum);
  return 0;
}
