// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// jumps WHAT [MICROSECONDS]: something comes between two stores of a loop that stores over an array altogether, again and
// again, with another key each time. Each element must be what this pass or the one before it has stored.
//
//   jump    a handler leaves the loop for good (throw: by an exception)
//   look    a handler looks at the array
//   late    the handler of another thread, which jumps, is installed while the loop goes on
//   cancel  the thread is cancelled where it is
//   defer   the thread is cancelled, but only between the passes
//   fork    a child looks at the array while another thread goes on
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 6 << 20, ROUNDS = 8 };
static uint64_t *a;
static volatile uint64_t key, wrong, looks;
static volatile int stop;
static sigjmp_buf out;

static inline uint64_t value(uint64_t k, size_t i) { return k * 0x9e3779b97f4a7c15u + i * 3 + 1; }

__attribute__((noinline)) static void store_all(uint64_t *x, size_t n, uint64_t k) {
  for (size_t i = 0; i < n; i++) x[i] = value(k, i);
}

__attribute__((noinline)) static uint64_t torn(const uint64_t *x, size_t n, uint64_t k) {
  uint64_t bad = 0;
  for (size_t i = 0; i < n; i++) bad += x[i] != value(k, i) && x[i] != value(k - 1, i);
  return bad;
}

/// What may end by an exception is called through this.
static void (*volatile store)(uint64_t *, size_t, uint64_t) = store_all;

static void next_pass(void) {
  key = key + 1;
  store(a, N, key);
}

static void *worker(void *asynchronous) {
  if (asynchronous) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  if (sigsetjmp(out, 1) == 0)
    for (; !stop; pthread_testcancel()) next_pass();
  return NULL;
}

static void jump(int number) { (void)number, siglongjmp(out, 1); }
static void look(int number) { (void)number, wrong = wrong + torn(a, N, key), looks = looks + 1; }

static void handle(int number, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  sigaction(number, &action, NULL);
}

static void alarm_in(long us) {
  struct itimerval timer;
  memset(&timer, 0, sizeof timer);
  timer.it_value.tv_usec = us;
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void interrupt(int leave) {
  for (int round = 0; round < ROUNDS; round++) {
    next_pass();
    const uint64_t seen = looks;
    if (!leave) {
      alarm_in(1000 + round * 17001);
      while (looks == seen) next_pass();
    } else if (sigsetjmp(out, 1) == 0) { // the alarm may come at once where processors are busy
      alarm_in(1000 + round * 17001);
      for (;;) next_pass();
    }
    wrong = wrong + torn(a, N, key);
  }
}

#ifdef __cplusplus
static void leave_by_exception(int number) { throw number; }

/// The exception may come at any instruction of this function, and of what it calls. Its caller must have but one call in
/// its try block, as an instruction between two calls would be covered by none of them.
__attribute__((noinline)) static void pass_until_alarm(long us) {
  alarm_in(us);
  for (;;) next_pass();
}

/// Called through a pointer, so that the compiler cannot find that it never throws.
static void (*volatile pass)(long) = pass_until_alarm;

static void interrupt_by_exceptions() {
  for (int round = 0; round < ROUNDS; round++) {
    next_pass();
    try {
      pass(1000 + round * 17001);
    } catch (int) {
      sigset_t alarms;
      sigemptyset(&alarms);
      sigaddset(&alarms, SIGALRM);
      pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    }
    wrong = wrong + torn(a, N, key);
  }
}
#endif

static void beside(const char *what, useconds_t us) {
  pthread_t thread;
  const int cancel = !strcmp(what, "cancel"), children = !strcmp(what, "fork");
  pthread_create(&thread, NULL, worker, cancel ? (void *)1 : NULL);
  while (key < 4) usleep(1000);
  for (int round = 0; round < (children ? 4 : 1); round++) {
    usleep(us);
    if (!children) break;
    const pid_t child = fork();
    if (child == 0) _exit(torn(a, N, key) != 0);
    int status = -1;
    waitpid(child, &status, 0);
    wrong = wrong + (status != 0);
  }
  if (cancel || !strcmp(what, "defer")) pthread_cancel(thread);
  if (!strcmp(what, "late")) handle(SIGUSR1, jump), pthread_kill(thread, SIGUSR1);
  if (strcmp(what, "defer")) stop = 1;
  pthread_join(thread, NULL);
  wrong = wrong + torn(a, N, key);
  if (!strcmp(what, "defer")) // the last pass was whole
    for (size_t i = 0; i < N; i++) wrong = wrong + (a[i] != value(key, i));
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "jump";
  if (!strcmp(what, "jump")) handle(SIGALRM, jump);
  if (!strcmp(what, "look")) handle(SIGALRM, look);
#ifdef __cplusplus
  if (!strcmp(what, "throw")) signal(SIGALRM, leave_by_exception);
#endif
  a = (uint64_t *)malloc(N * sizeof *a);
  next_pass();
  next_pass();
  if (!strcmp(what, "jump")) interrupt(1);
  else if (!strcmp(what, "look")) interrupt(0);
#ifdef __cplusplus
  else if (!strcmp(what, "throw")) interrupt_by_exceptions();
#endif
  else beside(what, argc > 2 ? (useconds_t)atoi(argv[2]) : 0);
  printf("%s: %llu wrong\n", what, (unsigned long long)wrong);
  free(a);
  return 0;
}
