// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A load that optimizations moved out of the inner loops has no line of its own. The remark about it and what a run counts of it
// name the nest's, so that `pagecast explain --run` puts them together.
// RUN: %pagecast-clang -O3 -g -Rpass=pagecast --target=x86_64-linux-gnu -S -emit-llvm "%s" -o "%t.ll" 2>&1 | %FileCheck --check-prefix=REMARK "%s"
// RUN: %FileCheck "%s" < "%t.ll"

void *malloc(unsigned long);
double fill(double *, long);

// REMARK: lost_lines.c:[[@LINE+6]]:3: remark: s read: strides {-8} bytes
// CHECK: @.pagecast.groups{{.*}}, i32 [[@LINE+5]], i32 3, ptr
double back(long n) {
  double(*b)[2] = malloc(n * sizeof *b), *s = malloc(n * sizeof *s);
  fill(s, n);
  b[n - 1][0] = b[n - 1][1] = fill(b[0], n);
  for (long t = n - 2; t >= 0; t--)
    for (int i = 0; i < 2; i++) {
      double x = 0;
      for (int j = 0; j < 2; j++) x += b[t + 1][j];
      b[t][i] = x * s[t] / 8;
    }
  return b[0][0];
}
