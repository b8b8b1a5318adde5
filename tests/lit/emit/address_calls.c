// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The call that decides where the loop around a nest goes next is named, once, where the program makes it. Others are not.
// RUN: %pagecast-clang -O2 -gline-tables-only -Rpass-missed=pagecast -c "%s" -o "%t.o" 2>&1 | %FileCheck "%s"

unsigned long fread(void *, unsigned long, unsigned long, void *);
long next_row(void);
void say(void);

// CHECK: address_calls.c:[[@LINE+7]]:5: remark: a call: what the loop around goes over next is not known before it, so that each iteration is hinted by itself: fread [-Rpass-missed=pagecast]
// CHECK-NOT: remark: {{.*}}goes over next
double given(const double *w, double *g, void *file, long turns, long n) {
  double s = 0;
  for (long t = 0; t < turns; t++) {
    long r[2];
    say();
    fread(r, 8, 2, file);
    const double *a = w + r[0] * n, *b = w + r[1] * n;
    for (long k = 0; k < n; k++) s += a[k] * b[k];
    for (long k = 0; k < n; k++) g[r[0] * n + k] += s;
  }
  return s;
}

// CHECK: address_calls.c:[[@LINE+5]]:27: remark: a call: what the loop around {{.*}}: next_row [-Rpass-missed=pagecast]
// CHECK-NOT: remark: {{.*}}goes over next
double returned(const double *w, long turns, long n) {
  double s = 0;
  for (long t = 0; t < turns; t++) {
    const double *a = w + next_row() * n;
    for (long k = 0; k < n; k++) s += a[k];
  }
  return s;
}

double not_decided(const double *w, long turns, long n) {
  double s = 0;
  for (long t = 0; t < turns; t++) {
    say();
    for (long k = 0; k < n; k++) s += w[k];
  }
  return s;
}
