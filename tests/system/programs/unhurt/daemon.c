// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Becomes a daemon in the classic way, twice over: the parents leave, every descriptor is closed; the data stay.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kN = 6 << 20 };

int main(int argc, char **argv) {
  uint64_t *data = malloc(kN * sizeof *data), h = 0;
  if (!data || argc < 2) return 1;
  int out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (size_t i = 0; i < kN; i++) data[i] = i * 0x9e3779b97f4a7c15u;
  for (int generation = 0; generation < 2; generation++) {
    pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) _exit(0);
    setsid();
    for (size_t i = 0; i < kN; i += 7) data[i] ^= i;
  }
  if (chdir("/")) return 1;
  for (int fd = (int)sysconf(_SC_OPEN_MAX) < 4096 ? (int)sysconf(_SC_OPEN_MAX) : 4096; fd >= 0; fd--)
    if (fd != out) close(fd);
  close_range(50, ~0u, 0);
  if (open("/dev/null", O_RDWR) != 0 || dup2(0, 1) != 1 || dup2(0, 2) != 2) return 1;
  usleep(100000); // the parents have gone
  for (int round = 0; round < 2; round++)
    for (size_t i = 0; i < kN; i++) h = h * 31 + (data[i] += h);
  char line[40];
  int n = snprintf(line, sizeof line, "%016llx\n", (unsigned long long)h);
  return write(out, line, (size_t)n) != n;
}
