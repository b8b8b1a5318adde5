// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are ticked on the same loop are entered as one, with the loops of both; those of about the same length
// are one.
// RUN: %pagecast-clang -O2 -fno-vectorize -fno-discard-value-names --target=x86_64-linux-gnu -S -emit-llvm "%s" -o - | %FileCheck "%s"

// ABI, loops, ticked, strips, groups: the second nest brings a loop of another length, the third none.
// CHECK-DAG: @.pagecast.nest = private {{.*}} { i32 {{[0-9]+}}, i32 4, i32 1, i32 {{[0-9]+}}, i32 3,
// CHECK-DAG: @.pagecast.nest.{{[0-9]+}} = private {{.*}} { i32 {{[0-9]+}}, i32 3, i32 1, i32 {{[0-9]+}}, i32 1,

// CHECK-LABEL: define {{.*}}@joined(
// CHECK: call {{.*}}@__pagecast_enter
// CHECK-NOT: call {{.*}}@__pagecast_enter
// CHECK: call {{.*}}@__pagecast_tick
// CHECK-NOT: call {{.*}}@__pagecast_{{enter|tick}}
// CHECK-LABEL: define {{.*}}@apart(
void joined(long n, long m, long l, long o, double *restrict u, double *restrict v, double *restrict w) {
  for (long k = 0; k < n; k++)
    for (long j = 0; j < m; j++) {
      for (long i = 0; i < l; i++)
        u[(k * m + j) * l + i] += 1.0;
      for (long i = 0; i < o; i++)
        v[(k * m + j) * o + i] += 1.0;
      for (long i = 1; i < l - 1; i++)
        w[i] += u[(k * m + j) * l + i];
    }
}

// Negative twin: one after the other over the same array, in rows of different lengths.
// CHECK: call {{.*}}@__pagecast_enter
// CHECK: call {{.*}}@__pagecast_enter
// CHECK: ret
void apart(long n, long m, long l, long o, double *u) {
  for (long k = 0; k < n; k++)
    for (long j = 0; j < m; j++) {
      for (long i = 0; i < l; i++)
        u[(k * m + j) * l + i] += 1.0;
      for (long i = 0; i < o; i++)
        u[(k * m + j) * o + i] *= 2.0;
    }
}
