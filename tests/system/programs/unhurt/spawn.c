// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other programs started in every way, with the data changing in between; the last becomes this process.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kN = 6 << 20 };
extern char **environ;
static uint64_t *data;

static uint64_t turn(uint64_t k) {
  uint64_t h = 0;
  for (size_t i = 0; i < kN; i++) h = h * 31 + (data[i] += k * i);
  return h;
}

static int spawned(void) {
  char *argv[] = {"sh", "-c", "exit 3", NULL};
  pid_t child;
  int status = 0;
  if (posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ)) return -1;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

static int vforked(void) {
  int status = 0;
  volatile uint64_t *absent = data;
  pid_t child = vfork();
  if (child == 0) {
    // On the parent's memory, and served by its pager.
    for (size_t i = 0; i < kN; i += kN / 64) absent[i] ^= 1;
    execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
    _exit(127);
  }
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
  if (argc > 1) return puts("again"), 0;
  char line[64] = "";
  data = calloc(kN, sizeof *data);
  if (!data) return 1;
  printf("%016llx\n", (unsigned long long)turn(1));
  fflush(stdout);
  printf("%d %016llx\n", system("exit 5") >> 8, (unsigned long long)turn(2));
  FILE *f = popen("echo $((6 * 7))", "r");
  if (!f || !fgets(line, sizeof line, f) || pclose(f)) return 1;
  printf("%s%016llx\n", line, (unsigned long long)turn(3));
  printf("%d %016llx\n", spawned(), (unsigned long long)turn(4));
  printf("%d %016llx\n", vforked(), (unsigned long long)turn(5));
  fflush(stdout);
  execl(argv[0], argv[0], "again", (char *)NULL);
  return 1;
}
