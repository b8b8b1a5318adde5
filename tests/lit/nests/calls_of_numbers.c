// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of the C library that is given numbers touches nothing. Of another one nobody knows.
// RUN: %pagecast-clang -O2 -g -Rpass=pagecast -Rpass-missed=pagecast -c "%s" -o "%t.o" 2>&1 | %FileCheck "%s"

double log(double), other(double);

// CHECK-NOT: a call
// CHECK: calls_of_numbers.c:[[@LINE+3]]:49: remark: x read
double logs(const double *x, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum = sum + log((x[i]));
  return sum;
}

// CHECK: calls_of_numbers.c:[[@LINE+3]]:44: remark: a call{{.*}}: other
double others(const double *x, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum = sum + other(x[i]);
  return sum;
}
