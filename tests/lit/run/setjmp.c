// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A nest that longjmp leaves; a function that setjmp returns to twice is left alone.
// RUN: env FAKE_LEAVES_EARLY=1 %differential "%s" "%t"

#include <setjmp.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
static int data[50000];

static jmp_buf back;
NOINLINE void jumper(int *p, int n) {
  for (int i = 0; i < n; i++) {
    p[i]++;
    if (i == 77)
      longjmp(back, 1);
  }
}
NOINLINE int setter(int *p, int n) {
  volatile int rounds = 0;
  if (setjmp(back) == 0)
    jumper(p, n);
  rounds++;
  for (int i = 0; i < n; i++)
    p[i] += 2;
  return rounds;
}
int main(void) {
  int rounds = 0;
  for (int i = 0; i < 3; i++)
    rounds += setter(data, 500);
  for (int i = 0; i < 50000; i++)
    rounds += data[i];
  printf("%d\n", rounds);
  return 0;
}
