// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls whose buffers are paged out: by the program, inside the C library, and by the kernel for a signal.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
static const size_t kBytes = 48 * MB;
static unsigned char *data;
static volatile sig_atomic_t handled = 0;

static void handler(int sign) { handled += sign; }

/// Everything else goes out.
static unsigned long sweep(void) {
  unsigned long sum = 0;
  for (size_t i = 0; i < kBytes; i += 64) sum = sum * 31 + data[i];
  return sum;
}

int main(void) {
  data = malloc(kBytes);
  const int file = memfd_create("calls", 0);
  FILE *stream = fdopen(dup(file), "r+");
  if (!data || !stream) return 1;
  for (size_t i = 0; i < kBytes; i++) data[i] = (unsigned char)(i * 7 + (i >> 12));
  printf("%016lx\n", sweep());
  printf("pwrite %zd\n", pwrite(file, data + 3, 2 * MB, 0));
  printf("pread %zd\n", pread(file, data + 9 * MB + 5, 2 * MB, 0));
  const struct iovec parts[2] = {{data + 20 * MB, 70000}, {data + 2 * MB + 11, 90000}};
  printf("writev %zd\n", writev(file, parts, 2));
  sweep();
  printf("fread %zu\n", fread(data + 30 * MB + 77, 1, 1 * MB, stream));
  sweep();
  printf("fwrite %zu %d\n", fwrite(data + 13 * MB, 1, 1 * MB, stream), fflush(stream));
  sweep();
  struct stat *info = (struct stat *)(data + 40 * MB);
  printf("fstat %d %lld\n", fstat(file, info), (long long)info->st_size);
  memset(info, 0, sizeof *info);
  const stack_t stack = {.ss_sp = data + 8 * MB, .ss_size = 1 * MB};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  sweep();
  raise(SIGUSR1);
  printf("handled %d\n", (int)handled);
  memset(data + 8 * MB, 0, 1 * MB); // frames hold addresses
  printf("%016lx\n", sweep());
  return 0;
}
