// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime is told at run time: trip counts, bases, strides, offsets, and the steps done.
// Bases are relative to fake_origin.
// REQUIRES: llvm-19
// RUN: %pagecast-clang -O2 -g "%s" %fake-runtime -o "%t"
// RUN: env FAKE_PRINT=1 FAKE_STRIP=64 "%t" 2>&1 | %FileCheck "%s"
// RUN: env FAKE_PRINT=1 FAKE_STRIP=1000 "%t" 2>&1 | %FileCheck --check-prefix=LONG "%s"
// RUN: env FAKE_PRINT=1 FAKE_GATE=1000000 "%t" 2>&1 | %FileCheck --check-prefix=SHUT "%s"
// RUN: env FAKE_PRINT=1 FAKE_NULL=1 "%t" 2>&1 | %FileCheck --check-prefix=REFUSED "%s"

#define NOINLINE __attribute__((noinline))
char fake_origin[8 << 20];
#define AT(type, offset) ((type *)(fake_origin + (offset)))

// 100 * 200 * 8 bytes are less than the gate of 1000000; 1000 * 5 * 800 are not.
// SHUT-NOT: enter matvec
// SHUT: enter cube loops=2 ticked=1 strips=1 trips 1000 5
// SHUT-NOT: enter

// REFUSED: enter matvec
// REFUSED-NOT: exit

// Each row of 200 is four strips: 64 + 64 + 64 + 8.
// CHECK: enter matvec loops=2 ticked=1 strips=1 trips 100 200
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+4096 8 0
// CHECK-NEXT: group 1 flags=1 element=8 lo=0 hi=8 base=+8192 1608 8
// CHECK-NEXT: group 2 flags=1 element=8 lo=0 hi=8 base=+1048576 0 8
// CHECK-NEXT: exit matvec steps=400
// LONG: exit matvec steps=100
NOINLINE void matvec(double *restrict y, const double *restrict a, const double *restrict x, long m, long n, long s) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      y[i] += a[i * s + j] * x[j];
}

// CHECK: enter down loops=1 ticked=0 strips=1 trips 129
// CHECK-NEXT: group 0 flags=1 element=4 lo=-4 hi=4 base=+516 -4
// CHECK-NEXT: group 1 flags=2 element=4 lo=0 hi=4 base=+2097668 -4
// CHECK-NEXT: exit down steps=3
// LONG: exit down steps=1
NOINLINE void down(int *restrict p, const int *restrict q, int n) {
  for (int i = n - 1; i > 0; i--)
    p[i] = q[i] + q[i - 1];
}

// The innermost loop moves by 800 bytes in 100 iterations: it is one access to the loop around it.
// CHECK: enter cube loops=2 ticked=1 strips=1 trips 1000 5
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=800 base=+0 5600 800
// CHECK-NEXT: exit cube steps=1000
// LONG: exit cube steps=1000
NOINLINE void cube(double (*p)[7][100], long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      for (long k = 0; k < 100; k++)
        p[i][j][k] = p[i][j][k] * 0.5 + 1;
}

// Left early: the steps are those of the strips that were finished.
// CHECK: enter search loops=1 ticked=0 strips=1 trips 100000
// CHECK-NEXT: group 0 flags=1 element=4 lo=0 hi=4 base=+0 4
// CHECK-NEXT: exit search steps=3
// LONG: exit search steps=0
NOINLINE long search(const int *p, long n, int wanted) {
  for (long i = 0; i < n; i++)
    if (p[i] == wanted)
      return i;
  return -1;
}

// Two nests that share the outer loop, opened one after the other and closed the other way round.
// CHECK: enter pieces loops=2 ticked=1 strips=1 trips 10 700
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+0 5608 8
// CHECK-NEXT: enter pieces loops=2 ticked=1 strips=1 trips 10 701
// CHECK-NEXT: group 0 flags=3 element=8 lo=0 hi=8 base=+2097152 5608 8
// CHECK-NEXT: exit pieces steps=110
// CHECK-NEXT: exit pieces steps=110
NOINLINE void pieces(double *x, double *y, long n, long m) {
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < m - 1; j++)
      x[i * m + j] += 1;
    for (long j = 0; j < m; j++)
      y[i * m + j] *= 3;
  }
}

// No iteration at all: the guard keeps the program from entering.
// CHECK-NOT: enter
int main(void) {
  matvec(AT(double, 4096), AT(double, 8192), AT(double, 1 << 20), 100, 200, 201);
  down(AT(int, 2 << 20), AT(int, 0), 130);
  cube(AT(void, 0), 1000, 5 + (fake_origin[0] != 0));
  AT(int, 0)[200] = 77;
  if (search(AT(int, 0), 100000, 77) != 200)
    return 1;
  pieces(AT(double, 0), AT(double, 2 << 20), 10, 701);
  down(AT(int, 2 << 20), AT(int, 0), 1);
  return 0;
}
