// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that come round at an end of a loop are taken to be what they are in between: neighbours in a periodic domain.
// RUN: %nests "%s" | %FileCheck "%s"

// By tests for the ends.
// CHECK-LABEL: nests of 'tested'
// CHECK-NOT: indirect
// CHECK: group {{[0-9]+}}: reads element=8 [-8, 16) {{.*}}strides={(8 * %n), 8}
// CHECK-NOT: indirect
void tested(double *restrict v, const double *restrict u, long n) {
  for (long i = 0; i < n; i++) {
    long below = i == n - 1 ? 0 : i + 1, above = i == 0 ? n - 1 : i - 1;
    for (long j = 0; j < n; j++) {
      long right = j == n - 1 ? 0 : j + 1, left = j == 0 ? n - 1 : j - 1;
      v[i * n + j] = u[below * n + j] + u[above * n + j] + u[i * n + j] + u[i * n + right] + u[i * n + left];
    }
  }
}

// By corrections, of narrower counters.
// CHECK-LABEL: nests of 'corrected'
// CHECK-NOT: indirect
// CHECK: group {{[0-9]+}}: reads element=8 [-8, 16)
// CHECK-NOT: indirect
void corrected(double *restrict v, const double *restrict u, int n) {
  for (int i = 0; i < n; i++) {
    int below = i + 1, above = i - 1;
    if (below >= n) below -= n;
    if (above < 0) above += n;
    for (int j = 0; j < n; j++) {
      int right = j + 1, left = j - 1;
      if (right >= n) right -= n;
      if (left < 0) left += n;
      v[(long)i * n + j] =
          u[(long)below * n + j] + u[(long)above * n + j] + u[(long)i * n + j] + u[(long)i * n + right] + u[(long)i * n + left];
    }
  }
}

// By rests, signed and unsigned.
// CHECK-LABEL: nests of 'rests'
// CHECK-NOT: indirect
// CHECK: group {{[0-9]+}}: reads element=8 [-8, 16)
// CHECK-NOT: indirect
void rests(double *restrict v, const double *restrict u, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      v[(long)i * n + j] = u[(long)((i + 1) % n) * n + j] + u[(long)((i + n - 1) % n) * n + j] + u[(long)i * n + j] +
                           u[(long)i * n + (j + 1) % n] + u[(long)i * n + (j - 1 + n) % n];
}
// CHECK-LABEL: nests of 'unsigned_rests'
// CHECK-NOT: indirect
// CHECK: group {{[0-9]+}}: reads element=8 [-16, 8) base=(8 + %u) strides={8}
// CHECK-NOT: indirect
void unsigned_rests(double *restrict v, const double *restrict u, unsigned long n) {
  for (unsigned long i = 0; i < n; i++) v[i] = u[(i + 1) % n] + u[i] + u[(i + n - 1) % n];
}

// One that is left out is one.
// CHECK-LABEL: nests of 'but_one'
// CHECK-NOT: indirect
// CHECK: group {{[0-9]+}}: reads element=8 [0, 8) {{.*}}strides={8}
// CHECK-NOT: indirect
double but_one(const double *u, long n, long which, long instead) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum += u[i == which ? instead : i];
  return sum;
}

// Nothing of that is certain: where the arrays may overlap, what is stored over must be read.
// CHECK-LABEL: nests of 'may_overlap'
// CHECK-NOT: overwrites
void may_overlap(double *v, const double *u, long n) {
  for (long i = 0; i < n; i++) v[i] = u[i == n - 1 ? 0 : i + 1];
}

// Negative twins: the other one is another array; it comes round again and again; half of the iterations go the other way; there is hardly an iteration
// between the ends; the counter is narrow.
// CHECK-LABEL: nests of 'another'
// CHECK: reads indirect
double another(const double *u, const double *last, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum += (i == n - 1 ? last : u)[i];
  return sum;
}
// CHECK-LABEL: nests of 'again'
// CHECK: indirect{{.*}}name=u
double again(const double *u, long n, long times) {
  double sum = 0;
  for (long i = 0; i < times; i++) sum += u[i % n];
  return sum;
}
// CHECK-LABEL: nests of 'half'
// CHECK: indirect{{.*}}name=u
double half(const double *u, long n, long middle, long gap) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum += u[i < middle ? i : i * 2 - gap];
  return sum;
}
// CHECK-LABEL: nests of 'few'
// CHECK: indirect{{.*}}name=u
double few(const double *u, long n, long which) {
  double sum = 0;
  for (long k = 0; k < n; k++)
#pragma clang loop unroll(disable)
    for (long m = 0; m < 12; m++) sum += u[k * 12 + (m == which ? k : m)];
  return sum;
}
// CHECK-LABEL: nests of 'narrow'
// CHECK: indirect{{.*}}name=u
double narrow(const double *u, long n, unsigned char which) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum += u[(unsigned char)i == which ? i / 2 : i];
  return sum;
}
