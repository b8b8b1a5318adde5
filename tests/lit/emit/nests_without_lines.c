// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests of one function have names of their own where lines are not known, also those that were inlined.
// RUN: %pagecast-clang -O2 -fno-vectorize --target=x86_64-linux-gnu -S -emit-llvm "%s" -o - | %FileCheck "%s"
// RUN: %pagecast-clang -O2 -fno-vectorize -gline-tables-only --target=x86_64-linux-gnu -S -emit-llvm "%s" -o - | %FileCheck --check-prefix=LINES "%s"

// CHECK-DAG: c"both\00"
// CHECK-DAG: c"both#2\00"
// LINES-DAG: c"both\00"
// LINES-NOT: c"both#2\00"

static double sum(const double *x, long n) {
  double all = 0;
  for (long i = 0; i < n; i++) all += x[i];
  return all;
}

double both(const double *x, long n, const double *y, long m, void (*between)(void)) {
  const double first = sum(x, n);
  between();
  return first + sum(y, m);
}
