// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Goes wrong where a read gave nothing, as it does in a copy: astray HOW FILE. The file has no zeros.
#define _GNU_SOURCE
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

/// Where the copy's own code has its `turn`-th system call. It was mapped among the last, and so lies above what is mapped now,
/// if that fits into no gap.
static const unsigned char *call_of_the_shim(int turn) {
  const size_t gap = 1 << 20, far = 4 << 20;
  const unsigned char *const now = mmap(NULL, gap, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *found = NULL;
  unsigned char resident;
  for (const unsigned char *page = now + gap; page < now + far && !mincore((void *)page, 4096, &resident); page += 4096)
    for (int i = 0; i < 4095; i++)
      if (page[i] == 0x0f && page[i + 1] == 0x05) {
        found = page + i;
        if (turn-- == 0) return found;
      }
  return found;
}

/// Jumps there with the registers of a call that would make a directory, or into the middle of that code.
static void jump_into_the_shim(int turn) {
  const unsigned char *const call = call_of_the_shim(turn / 2);
  if (!call) return;
  const long number = 83; // mkdir
  __asm__ volatile("xor %%r9d, %%r9d\n jmp *%0" : : "r"(turn % 2 ? call - 7 : call), "a"(number), "D"(".made"), "S"(0755L) : "memory");
}

static void go_wrong(const char *how, int file, int turn) {
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
    go_wrong(how, large[5] ? file : -1, turn);
  }
  if (!strcmp(how, "old calls")) { // the numbers of 32-bit programs: 39 makes a directory
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(39), "b"(".made"), "c"(0755) : "memory");
    __asm__ volatile("syscall" : "=a"(result) : "a"(0x40000000L + 83), "D"(".made"), "S"(0755) : "rcx", "r11", "memory");
  }
  if (!strcmp(how, "jump")) jump_into_the_shim(turn);
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
    if (!block[100]) go_wrong(arguments[1], file, i);
    sum += block[100];
  }
  printf("%ld\n", sum);
  return 0;
}
