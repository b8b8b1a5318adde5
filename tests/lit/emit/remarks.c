// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks with their lines and columns, and their stable names.
// RUN: %pagecast-clang -O2 -gline-tables-only -Rpass=pagecast -Rpass-missed=pagecast -c "%s" -o "%t.o" 2>&1 | %FileCheck "%s"
// RUN: %pagecast-clang -O2 -g -fsave-optimization-record -foptimization-record-passes=pagecast -foptimization-record-file="%t.yaml" -c "%s" -o "%t.o"
// RUN: %FileCheck --check-prefix=YAML "%s" < "%t.yaml"
// RUN: %pagecast-clang -O2 -c "%s" -o "%t.o" 2>&1 | %FileCheck --allow-empty --check-prefix=SILENT "%s"
// SILENT-NOT: remark:

// CHECK: remarks.c:[[@LINE+15]]:15: remark: {{.*}} read: strides {(8 * %{{.*}}), 8} bytes, reuse {unknown, spatial} [-Rpass=pagecast]
// CHECK: remarks.c:[[@LINE+14]]:30: remark: {{.*}} read: strides {0, 8} bytes, reuse {temporal, spatial} [-Rpass=pagecast]
// CHECK: remarks.c:[[@LINE+12]]:5: remark: loop split into strips: loop 2 of 2 in its nest [-Rpass=pagecast]
// YAML: --- !Passed
// YAML-NEXT: Pass: pagecast
// YAML-NEXT: Name: Hinted
// YAML: Function: matvec
// YAML: Array: y
// YAML: Access: read and written
// YAML: Strides: 8, 0
// YAML: Reuse: spatial, temporal
// YAML: Name: StripMined
void matvec(double *restrict y, const double *restrict a, const double *restrict x, long m, long n) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      y[i] += a[i * n + j] * x[j];
}

// CHECK: remarks.c:[[@LINE+7]]:11: remark: {{.*}} read: strides {4} bytes, reuse {spatial}, index of an indirect reference
// CHECK: remarks.c:[[@LINE+6]]:{{[0-9]+}}: remark: {{.*}} read and written through 1 loaded index: a slice runs ahead
// CHECK: remarks.c:[[@LINE+4]]:3: remark: loop split
// YAML: Name: HintedIndirect
// YAML: Array: count
void histogram(int *restrict count, const int *restrict key, long n) {
  for (long i = 0; i < n; i++)
    count[key[i]]++;
}

// CHECK: remarks.c:[[@LINE+5]]:12: remark: {{.*}} read where a search goes through 1 loaded index: a slice runs ahead
long listed(const int *value, const int *next, const int *first, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    for (int j = first[i]; j >= 0; j = next[j])
      s += value[j];
  return s;
}

// Integer arithmetic without a load; its twin's address comes from floating point.
// CHECK: remarks.c:[[@LINE+3]]:14: remark: {{.*}} written at computed places: a slice runs ahead [-Rpass=pagecast]
void square(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i * i] = 0;
}
// CHECK: remarks.c:[[@LINE+6]]:22: remark: not hinted: the address is neither affine in the loops nor computed from loaded values by operations that slices have [-Rpass-missed=pagecast]
// YAML: --- !Missed
// YAML-NEXT: Pass: pagecast
// YAML-NEXT: Name: NonAffine
void rounded(char *a, long double f, long n) {
  for (long i = 0; i < n; i++)
    a[(long)(f * i)] = 0;
}

// CHECK: remarks.c:[[@LINE+6]]:3: remark: loop not hinted: its trip count is not known on entry [-Rpass-missed=pagecast]
// YAML: --- !Missed
// YAML-NEXT: Pass: pagecast
// YAML-NEXT: Name: UnknownTripCount
long length(const char *p) {
  const char *q = p;
  for (; *q * 3 != 9; q++)
    ;
  return q - p;
}

// Four loads behind one another are the most: the fifth index has a page of its own, and nothing behind it.
// CHECK: remarks.c:[[@LINE+8]]:16: remark: {{.*}} read through
// CHECK: remarks.c:[[@LINE+7]]:14: remark: {{.*}} read through
// CHECK: remarks.c:[[@LINE+6]]:10: remark: not hinted: the index is reached through too many indices
// YAML: --- !Missed
// YAML: Name: IndirectDepth
double chained(const double *x, const int *p, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[p[p[p[p[i]]]]]];
  return s;
}

// CHECK: remarks.c:[[@LINE+7]]:9: remark: not hinted: the address depends on what earlier iterations computed
// YAML: --- !Missed
// YAML: Name: LoopCarried
void carried(int *restrict p, const int *restrict a, long n) {
  int k = 0;
  for (long i = 0; i < n; i++) {
    k = (p[k] ^ a[i]) & 1023;
    p[k]++;
  }
}

// A condition that the slice can compute is no reason to refuse.
// CHECK: remarks.c:[[@LINE+5]]:18: remark: {{.*}} read and written conditionally through 2 loaded indices
// CHECK-NOT: not hinted
void conditional(int *restrict p, const int *restrict flag, const int *restrict index, long n) {
  for (long i = 0; i < n; i++)
    if (flag[i])
      p[index[i]]++;
}
