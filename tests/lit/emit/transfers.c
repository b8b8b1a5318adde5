// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that is a nest by itself stays the call it is, behind a compare; in a loop its strips are calls.
// RUN: %pagecast-clang -O2 --target=x86_64-linux-gnu -S -emit-llvm "%s" -o - | %FileCheck "%s"
#include <stddef.h>
#include <string.h>

// CHECK-LABEL: define {{.*}}@copy(
// CHECK: %[[GATE:.*]] = load i64, ptr @__pagecast_gate
// CHECK: icmp ugt i64 %[[GATE]], %2
// CHECK-NOT: @__pagecast_
// CHECK-DAG: call void @__pagecast_copy(ptr %0, ptr %1, i64 %2, ptr nonnull @.pagecast.nest{{[.0-9]*}})
// CHECK-DAG: call void @llvm.memcpy.p0.p0.i64(ptr align 1 %0, ptr align 1 %1, i64 %2, i1 false)
// CHECK: ret void
void copy(char *p, const char *q, size_t n) { memcpy(p, q, n); }

// A length that is computed is passed as it is.
// CHECK-LABEL: define {{.*}}@doubles(
// CHECK: %[[BYTES:.*]] = shl i64 %2, 3
// CHECK-DAG: call void @__pagecast_copy(ptr %0, ptr %1, i64 %[[BYTES]], ptr nonnull @.pagecast.nest{{[.0-9]*}})
// CHECK-DAG: call void @llvm.memcpy.p0.p0.i64(ptr align 8 %0, ptr align 8 %1, i64 %[[BYTES]], i1 false)
// CHECK: ret void
void doubles(double *p, const double *q, size_t n) { memcpy(p, q, n * sizeof *p); }

// CHECK-LABEL: define {{.*}}@fill(
// CHECK: call void @__pagecast_fill(ptr %0, i8 %{{.*}}, i64 %2, ptr nonnull @.pagecast.nest{{[.0-9]*}})
// CHECK: ret void
void fill(char *p, int byte, size_t n) { memset(p, byte, n); }

// Negative twin: what is never large is left alone.
// CHECK-LABEL: define {{.*}}@few(
// CHECK-NOT: pagecast
// CHECK: ret void
void few(char *p, const char *q, unsigned short n) { memcpy(p, q, n); }

// CHECK-LABEL: define {{.*}}@rows(
// CHECK-NOT: @__pagecast_copy
// CHECK: call {{.*}}@__pagecast_enter(
// CHECK: %[[AT:.*]] = getelementptr i8, ptr %{{.*}}, i64 %[[BEGIN:.*]]
// CHECK: %[[BYTES:.*]] = sub i64 %{{.*}}, %[[BEGIN]]
// CHECK: call void @llvm.memcpy.p0.p0.i64({{.*}}, i64 %[[BYTES]], i1 false)
// CHECK: call {{.*}}@__pagecast_next(
void rows(char *p, const char *q, long m, size_t n) {
  for (long r = 0; r < m; r++) memcpy(p + r * n, q + (m - r) * n, n);
}

// The runtime's; without it they are null, and the gate is never open.
// CHECK: declare extern_weak void @__pagecast_copy(ptr nocapture, ptr nocapture, i64, ptr nocapture)
