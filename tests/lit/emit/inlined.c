// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a function that was inlined the array is called what its caller calls it; the site of the runtime, too. Its twin is not inlined.
// RUN: %pagecast-clang -O2 -g -Rpass=pagecast -c "%s" -o "%t.o" 2>&1 | %FileCheck "%s"
// RUN: %pagecast-clang -O2 -g -S -emit-llvm "%s" -o - | %FileCheck --check-prefix=SITE "%s"
// SITE-DAG: c"wind\00"
// SITE-DAG: c"rain\00"
double *rain;
static double sum(const double *x, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[i];
  return s;
}
static double twice(const double *u, long n) { return 2 * sum(u, n); }

// CHECK: inlined.c:12:10: remark: wind read: strides {8} bytes
double parameter(const double *wind, long n) { return twice(wind, n); }
// CHECK: inlined.c:12:10: remark: rain read: strides {8} bytes
double global(long n) { return sum(rain, n); }

// CHECK: inlined.c:[[@LINE+4]]:10: remark: plain read: strides {8} bytes
double twin(const double *plain, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s -= plain[i];
  return s;
}
