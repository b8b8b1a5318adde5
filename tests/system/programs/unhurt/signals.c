// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals in the middle of faults: a thousand a second, whose handler touches paged data, on a stack of its own; and
// a handler for faults of the program's making. signals [ROUNDS]: 3 unless told, and with ROUNDS it says "paging" when
// the first has stored its data.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { kN = 5 << 20 };
static uint64_t *data;
static volatile uint64_t *seen;
static volatile sig_atomic_t ticks;
static sigjmp_buf back;

static void on_alarm(int s) {
  (void)s;
  static size_t at;
  seen[(at += 70001) % kN]++;
  ticks = ticks + 1;
}

static void on_fault(int s, siginfo_t *info, void *context) {
  (void)s, (void)context;
  seen[((uintptr_t)info->si_addr >> 12) % kN] += 0; // may fault itself, in the good way
  siglongjmp(back, 1);
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 3;
  data = malloc(kN * sizeof *data), seen = calloc(kN, sizeof *seen);
  char *stack = malloc(SIGSTKSZ + 65536), *guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!data || !seen || !stack || guard == MAP_FAILED) return 1;
  stack_t alternate = {.ss_sp = stack, .ss_size = SIGSTKSZ + 65536};
  struct sigaction alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_ONSTACK};
  struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigaltstack(&alternate, NULL);
  sigaction(SIGALRM, &alarm, NULL);
  sigaction(SIGSEGV, &fault, NULL);
  struct itimerval timer = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &timer, NULL);
  uint64_t h = 0;
  volatile int caught = 0;
  for (volatile int round = 0; round < rounds; round++) {
    if (round == 1) alarm.sa_flags &= ~SA_RESTART, sigaction(SIGALRM, &alarm, NULL);
    for (size_t i = 0; i < kN; i++) data[i] = i * 2654435761u + (uint64_t)round;
    if (argc > 1 && round == 0) puts("paging"), fflush(stdout);
    for (size_t i = 0; i < kN; i++) h = h * 31 + data[i];
    int pipes[2];
    if (pipe(pipes)) return 1;
    for (size_t i = 0; i < kN; i += kN / 32) { // system calls that fault, and are interrupted
      ssize_t n;
      do n = write(pipes[1], data + i, 4096);
      while (n < 0);
      do n = read(pipes[0], data + i, 4096);
      while (n < 0);
    }
    close(pipes[0]), close(pipes[1]);
    for (volatile int i = 0; i < 200; i++) {
      if (sigsetjmp(back, 1) == 0) guard[i] = 1;
      else caught++;
    }
  }
  memset(&timer, 0, sizeof timer);
  setitimer(ITIMER_REAL, &timer, NULL);
  uint64_t touched = 0;
  for (size_t i = 0; i < kN; i++) touched += seen[i];
  printf("%016llx caught %d, handler's stores %s\n", (unsigned long long)h, (int)caught,
         touched == (uint64_t)ticks && ticks ? "kept" : "lost");
  return 0;
}
