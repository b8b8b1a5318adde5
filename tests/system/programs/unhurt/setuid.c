// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A set-uid program: says whether it is paged, with how much memory, and where to; gives its privileges up, and goes on.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)

static void say_backing(void) {
  DIR *all = opendir("/proc/self/fd");
  for (struct dirent *d; all && (d = readdir(all));) {
    char path[300], target[300] = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%s", d->d_name);
    if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "(deleted)")) fprintf(stderr, "backing %s\n", target);
  }
  if (all) closedir(all);
}

__attribute__((noinline)) static void fill(unsigned *data, size_t n, unsigned key) {
  for (size_t i = 0; i < n; i++) data[i] += (unsigned)i * key;
}

int main(void) {
  const size_t n = 96 * MB / sizeof(unsigned);
  int (*active)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "pagecast_active");
  uint64_t (*budget)(void) = (uint64_t (*)(void))dlsym(RTLD_DEFAULT, "pagecast_budget");
  unsigned *data = calloc(n, sizeof *data), sum = 0;
  if (!data) return 1;
  fill(data, n, 3);
  if (budget) fprintf(stderr, "secure %lu active %d budget %llu\n", getauxval(AT_SECURE), active(), (unsigned long long)budget());
  say_backing();
  if (setresgid(getgid(), getgid(), getgid()) || setresuid(getuid(), getuid(), getuid())) return 1;
  unsigned *more = calloc(n, sizeof *more);
  if (!more) return 1;
  fill(more, n, 5);
  fill(data, n, 7);
  for (size_t i = 0; i < n; i++) sum = sum * 31 + (data[i] ^ more[i]);
  printf("%08x\n", sum);
  return 0;
}
