// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strips vectorize in the complete pipeline as the loop would, in one copy, and have no call and no
// access to the ticket in them.
// RUN: %pagecast-clang -O3 -march=x86-64-v3 -ffast-math -fno-discard-value-names --target=x86_64-linux-gnu -S -emit-llvm "%s" -o - | %FileCheck "%s"
// RUN: %pagecast-clang -O3 -march=x86-64-v3 -ffast-math --target=x86_64-linux-gnu -Rpass=loop-vectorize -c "%s" -o "%t.o" 2>&1 | %FileCheck --check-prefix=REMARK "%s"
// RUN: %pagecast-clang -O3 -march=x86-64-v3 -ffast-math -fno-discard-value-names --target=x86_64-linux-gnu -fno-vectorize -DWITHOUT_ASKED -S -emit-llvm "%s" -o - | %FileCheck --check-prefix=SCALAR "%s"

// SCALAR-NOT: <{{[48]}} x

// CHECK-LABEL: define {{.*}}@matvec(
// CHECK: call {{.*}}@__pagecast_enter
// CHECK: vector.body{{[0-9]*}}:
// CHECK-NOT: {{call|volatile|^[a-z]}}
// CHECK: fadd fast <4 x double>
// CHECK-NOT: {{call|volatile|^[a-z]}}
// CHECK: br i1 {{.*}}label %vector.body
// CHECK-NOT: vector.body{{[0-9]*}}:
// CHECK: call {{.*}}@__pagecast_next
// REMARK-DAG: vectorize.c:[[@LINE+3]]:5: remark: vectorized loop (vectorization width: 4, interleaved count: 4)
void matvec(double *restrict c, const double *restrict a, const double *restrict b, long n, long m) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      c[i] += a[i * n + j] * b[j];
}

// CHECK-LABEL: define {{.*}}@store(
// CHECK: call {{.*}}@__pagecast_enter
// CHECK: vector.body{{[0-9]*}}:
// CHECK-NOT: {{call|volatile|^[a-z]}}
// CHECK: store <8 x i32>
// CHECK: store <8 x i32>
// CHECK: store <8 x i32>
// CHECK: store <8 x i32>
// CHECK-NOT: {{call|volatile|^[a-z]}}
// CHECK: br i1 {{.*}}label %vector.body
// CHECK-NOT: vector.body{{[0-9]*}}:
// CHECK: call {{.*}}@__pagecast_next
// REMARK-DAG: vectorize.c:[[@LINE+2]]:3: remark: vectorized loop (vectorization width: 8, interleaved count: 4)
void store(int *restrict a, const int *restrict b, int n) {
  for (int i = 0; i < n; i++)
    a[i] = b[i] + i;
}

// A width that the source asks for holds.
// REMARK-DAG: vectorize.c:[[@LINE+4]]:3: remark: vectorized loop (vectorization width: 4, interleaved count: 2)
#ifndef WITHOUT_ASKED
void asked(float *restrict p, const float *restrict q, int n) {
#pragma clang loop vectorize_width(4) interleave_count(2)
  for (int i = 0; i < n; i++)
    p[i] += q[i];
}
#endif

// A chain whose inner loop needs run-time alias checks vectorizes as it would without the pass, in one copy. Its rows
// may be longer than memory: they have strips.
// CHECK-LABEL: define {{.*}}@checked(
// CHECK: call {{.*}}@__pagecast_enter
// CHECK: call {{.*}}@__pagecast_next
// REMARK-DAG: vectorize.c:[[@LINE+3]]:5: remark: vectorized loop (vectorization width: 4, interleaved count: 4)
void checked(double *a, const double *b, long n, long m) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      a[i * n + j] = b[i * n + j] * 2;
}

// Rows with planes around them are short: not they are ticked, but the loop around them, with checks or without.
// CHECK-LABEL: define {{.*}}@checked_planes(
// CHECK: call {{.*}}@__pagecast_enter
// CHECK-NOT: @__pagecast_next
// CHECK: vector.body{{[0-9]*}}:
// CHECK-NOT: {{call|volatile|^[a-z]}}
// CHECK: br i1 {{.*}}label %vector.body
// CHECK: call {{.*}}@__pagecast_tick
// CHECK-NOT: @__pagecast_next
// CHECK: ret void
// REMARK-DAG: vectorize.c:[[@LINE+4]]:7: remark: vectorized loop (vectorization width: 4, interleaved count: 4)
void checked_planes(double (*a)[300][700], double (*b)[300][700], long n, long m, long k) {
  for (long q = 0; q < k; q++)
    for (long i = 0; i < m; i++)
      for (long j = 0; j < n; j++)
        a[q][i][j] = b[q][i][j] * 2;
}

// CHECK-LABEL: define {{.*}}@unchecked_planes(
// CHECK-NOT: @__pagecast_next
// CHECK: call {{.*}}@__pagecast_tick
// CHECK-NOT: @__pagecast_next
// CHECK: ret void
void unchecked_planes(double (*restrict a)[300][700], double (*restrict b)[300][700], long n, long m, long k) {
  for (long q = 0; q < k; q++)
    for (long i = 0; i < m; i++)
      for (long j = 0; j < n; j++)
        a[q][i][j] = b[q][i][j] * 2;
}
