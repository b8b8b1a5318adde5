// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// INTERACTIVE: a task with a user, as the OSDI 2000 paper has it: it touches all of a small working set, then waits for
// the user, over and over. The response time is how long the touching takes: whose memory was taken meanwhile, waits.
//
// An ordinary C program, of any machine: it is measured beside others and is not itself paged.
#define _GNU_SOURCE // getrusage, nanosleep beside -std=c11
#include "common.h"

#include <sys/resource.h>

static const char help[] =
    "usage: interactive --memory-size TOTAL [--sleep 5000] [--sweeps 0]\n"
    "Touches TOTAL bytes, sleeps, and so on, until it is ended. Prints \"ready\" when the working set has been\n"
    "made, and a line for each sweep after it: response time in microseconds, major and minor page faults. Lines come\n"
    "at the end of a sweep, but not more often than every 50 ms.\n"
    "  --memory-size TOTAL  bytes of the working set (units K, M, G are binary)\n"
    "  --sleep MS           milliseconds between two sweeps\n"
    "  --sweeps N           and then end; 0: never\n";

static void touch(uint64_t *a, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] += i;
}

static void wait_for_user(uint64_t milliseconds) {
  struct timespec t = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
  if (milliseconds)
    nanosleep(&t, NULL);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/// Who reads the lines of a task that never sleeps would be woken ten thousand times a second, and take a tenth of a
/// processor from what the task is measured beside.
static void say(double took, long major, long minor) {
  static double said = 0;
  printf("%.1f %ld %ld\n", took * 1e6, major, minor);
  const double now = seconds();
  if (now - said < 0.05)
    return;
  said = now;
  fflush(stdout);
}

static void respond(uint64_t *a, size_t n) {
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  double since = seconds();
  touch(a, n);
  double took = seconds() - since;
  getrusage(RUSAGE_SELF, &after);
  say(took, after.ru_majflt - before.ru_majflt, after.ru_minflt - before.ru_minflt);
}

int main(int argc, char **argv) {
  uint64_t bytes = 0, sleep = 5000, sweeps = 0;
  const struct app_option options[] = {{"--memory-size", &bytes, NULL}, {"--sleep", &sleep, NULL}, {"--sweeps", &sweeps, NULL}, {NULL, NULL, NULL}};
  parse_options(argc, argv, "interactive", help, options);
  size_t n = bytes / sizeof(uint64_t);
  uint64_t *a = (uint64_t *)allocate(n, sizeof *a);
  memset(a, 1, n * sizeof *a);
  setvbuf(stdout, NULL, _IOFBF, 1 << 16); // for 50 ms of them, several times over
  puts("ready");
  fflush(stdout);
  for (uint64_t i = 0; sweeps == 0 || i < sweeps; i++) {
    wait_for_user(sleep);
    respond(a, n);
  }
  free(a);
  return 0;
}
