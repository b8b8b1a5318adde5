; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The slice of a sparse matrix in its table, operation by operation:
;
;     for (j = 0; j < n; j++) for (k = row[j]; k < row[j + 1]; k++) y[j] += a[k] * x[column[k]];
;
; RUN: %pagecast-opt -passes='pagecast,verify' < "%s" | %FileCheck "%s"
; RUN: %pagecast-opt -passes='pagecast,verify<domtree>,verify<loops>,verify<scalar-evolution>' < "%s" -o /dev/null
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

; Groups: reads = 1, writes = 2, indirect = 4, index = 8.
; CHECK: @.pagecast.groups = private unnamed_addr constant [5 x { i32, i32, i64, i64, i32, i32, ptr }]
; CHECK-SAME: [{ i32, i32, i64, i64, i32, i32, ptr } { i32 9, i32 8, i64 0, i64 16, i32 0, i32 0, ptr @.pagecast.str{{[.0-9]*}} },
; CHECK-SAME: { i32, i32, i64, i64, i32, i32, ptr } { i32 5, i32 8, i64 0, i64 8, i32 0, i32 0, ptr @.pagecast.str{{[.0-9]*}} },
; CHECK-SAME: { i32, i32, i64, i64, i32, i32, ptr } { i32 5, i32 4, i64 0, i64 4, i32 0, i32 0, ptr @.pagecast.str{{[.0-9]*}} },
; CHECK-SAME: { i32, i32, i64, i64, i32, i32, ptr } { i32 5, i32 8, i64 0, i64 8, i32 0, i32 0, ptr @.pagecast.str{{[.0-9]*}} },
; CHECK-SAME: { i32, i32, i64, i64, i32, i32, ptr } { i32 2, i32 8, i64 0, i64 8, i32 0, i32 0, ptr @.pagecast.str{{[.0-9]*}} }]
; Arguments: n; base and stride of row (8), a, column, x and y (8), the strides of slices being 0;
; CHECK: @.pagecast.words = private unnamed_addr constant [19 x { i64, i32, i32 }]
; CHECK-SAME: [{ i64, i32, i32 } { i64 0, i32 1, i32 0 },
; CHECK-SAME: { i64, i32, i32 } { i64 0, i32 1, i32 1 }, { i64, i32, i32 } { i64 8, i32 0, i32 0 },
; CHECK-SAME: { i64, i32, i32 } { i64 0, i32 1, i32 2 }, { i64, i32, i32 } zeroinitializer,
; CHECK-SAME: { i64, i32, i32 } { i64 0, i32 1, i32 3 }, { i64, i32, i32 } zeroinitializer,
; CHECK-SAME: { i64, i32, i32 } { i64 0, i32 1, i32 4 }, { i64, i32, i32 } zeroinitializer,
; CHECK-SAME: { i64, i32, i32 } { i64 0, i32 1, i32 5 }, { i64, i32, i32 } { i64 8, i32 0, i32 0 },
; the live values: s0 = 8, s1 = row, s2 = a, s3 = -1, s4 = row + 8, s5 = 4, s6 = column, s7 = x. s8 is j.
; CHECK-SAME: { i64, i32, i32 } { i64 8, i32 0, i32 0 }, { i64, i32, i32 } { i64 0, i32 1, i32 1 },
; CHECK-SAME: { i64, i32, i32 } { i64 0, i32 1, i32 2 }, { i64, i32, i32 } { i64 -1, i32 0, i32 0 },
; CHECK-SAME: { i64, i32, i32 } { i64 8, i32 1, i32 1 }, { i64, i32, i32 } { i64 4, i32 0, i32 0 },
; CHECK-SAME: { i64, i32, i32 } { i64 0, i32 1, i32 3 }, { i64, i32, i32 } { i64 0, i32 1, i32 4 }]

; Operations: code, stage, width, -, to, a, b, c, extra. Vectors are registers from -32768 (0x8000), none is -1.
; CHECK: @.pagecast.ops = private unnamed_addr constant [21 x { i8, i8, i8, i8, i16, i16, i16, i16, i32 }] [
; madd s9 = j * 8 + row
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 3, i8 1, i8 64, i8 0, i16 9, i16 8, i16 0, i16 1, i32 0 },
; load s10 = row[j], from
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 43, i8 1, i8 64, i8 0, i16 10, i16 9, i16 -1, i16 -1, i32 0 },
; mul s11 = 8 * from
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 2, i8 1, i8 64, i8 0, i16 11, i16 0, i16 10, i16 -1, i32 0 },
; add s12 = a + 8 * from
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 0, i8 1, i8 64, i8 0, i16 12, i16 2, i16 11, i16 -1, i32 0 },
; mul s13 = -1 * from
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 2, i8 1, i8 64, i8 0, i16 13, i16 3, i16 10, i16 -1, i32 0 },
; madd s14 = j * 8 + row + 8
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 3, i8 1, i8 64, i8 0, i16 14, i16 8, i16 0, i16 4, i32 0 },
; load s15 = row[j + 1], to
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 43, i8 1, i8 64, i8 0, i16 15, i16 14, i16 -1, i16 -1, i32 0 },
; add s16 = to - from
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 0, i8 1, i8 64, i8 0, i16 16, i16 13, i16 15, i16 -1, i32 0 },
; slt s17 = from < to
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 24, i8 1, i8 64, i8 0, i16 17, i16 10, i16 15, i16 -1, i32 0 },
; range of group 1 from s12, stride 8, s16 times, if s17
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 45, i8 1, i8 64, i8 0, i16 16, i16 12, i16 0, i16 17, i32 1 },
; mul s18 = 4 * from
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 2, i8 1, i8 64, i8 0, i16 18, i16 5, i16 10, i16 -1, i32 0 },
; add s19 = column + 4 * from
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 0, i8 1, i8 64, i8 0, i16 19, i16 6, i16 18, i16 -1, i32 0 },
; range of group 2 from s19, stride 4, s16 times, if s17
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 45, i8 1, i8 64, i8 0, i16 16, i16 19, i16 5, i16 17, i32 2 },
; loop v0 = k, s16 times, if s17, up to operation 20: stage 2
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 46, i8 2, i8 64, i8 0, i16 -32768, i16 16, i16 -1, i16 17, i32 20 },
; madd v1 = k * 4 + s19
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 3, i8 1, i8 64, i8 0, i16 -32767, i16 -32768, i16 5, i16 19, i32 0 },
; load v2 = column[from + k], 32 bits
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 43, i8 2, i8 32, i8 0, i16 -32766, i16 -32767, i16 -1, i16 -1, i32 0 },
; sext v3 = v2, of 32 bits
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 19, i8 2, i8 64, i8 0, i16 -32765, i16 -32766, i16 -1, i16 -1, i32 32 },
; mul v4 = 8 * v3
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 2, i8 2, i8 64, i8 0, i16 -32764, i16 0, i16 -32765, i16 -1, i32 0 },
; add v5 = x + v4
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 0, i8 2, i8 64, i8 0, i16 -32763, i16 7, i16 -32764, i16 -1, i32 0 },
; touch of group 3 at v5
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 44, i8 2, i8 64, i8 0, i16 -1, i16 -32763, i16 -1, i16 -1, i32 3 },
; end of loop
; CHECK-SAME: { i8, i8, i8, i8, i16, i16, i16, i16, i32 } { i8 47, i8 2, i8 64, i8 0, i16 -1, i16 -1, i16 -1, i16 -1, i32 0 }]
; 21 operations, 20 scalars, 6 vectors, 2 stages, with loops.
; CHECK: @.pagecast.slice = private unnamed_addr constant { i32, i16, i16, i32, i32, i32, ptr } { i32 21, i16 20, i16 6, i32 2, i32 1, i32 0, ptr @.pagecast.ops }
; abi, loops, ticked, strips, groups, live, dynamic
; CHECK: @.pagecast.nest = private unnamed_addr constant {{.*}} { i32 8, i32 1, i32 0, i32 1, i32 5, i32 8, i32 6, i32 0, ptr @.pagecast.groups, ptr @.pagecast.words, ptr @.pagecast.slice, ptr

; The negative twin at the end has no slice.
; CHECK-NOT: @.pagecast.{{ops|slice}}
; CHECK: @.pagecast.nest.{{[0-9]+}} = {{.*}} { i32 8, i32 1, i32 0, i32 1, i32 1, i32 0, i32 2, i32 0, ptr @{{.*}}, ptr @{{.*}}, ptr null,
; CHECK-NOT: @.pagecast.{{ops|slice}}

; The ticked loop is the one of the rows; nothing was added to what goes through a row.
; CHECK-LABEL: define void @csr(
; CHECK: call { i64, ptr } @__pagecast_enter(ptr @.pagecast.nest, ptr
; CHECK: {{^}}rows.strip:
; CHECK: {{^}}row.body:
; CHECK-NOT: call
; CHECK: br i1 %end, label %row.end, label %row.body
; CHECK: call i64 @__pagecast_next(
; CHECK-LABEL: define void @band(
define void @csr(ptr %a, ptr %column, ptr %row, ptr %x, ptr %y, i64 %n) {
entry:
  br label %rows
rows:
  %j = phi i64 [ 0, %entry ], [ %j.next, %rows.latch ]
  %row.at = getelementptr inbounds i64, ptr %row, i64 %j
  %from = load i64, ptr %row.at, align 8
  %j.next = add nuw nsw i64 %j, 1
  %row.after = getelementptr inbounds i64, ptr %row, i64 %j.next
  %to = load i64, ptr %row.after, align 8
  %some = icmp slt i64 %from, %to
  br i1 %some, label %row.entry, label %rows.latch
row.entry:
  br label %row.body
row.body:
  %k = phi i64 [ %from, %row.entry ], [ %k.next, %row.body ]
  %s = phi double [ 0.0, %row.entry ], [ %s.next, %row.body ]
  %a.at = getelementptr inbounds double, ptr %a, i64 %k
  %av = load double, ptr %a.at, align 8
  %column.at = getelementptr inbounds i32, ptr %column, i64 %k
  %c = load i32, ptr %column.at, align 4
  %wide = sext i32 %c to i64
  %x.at = getelementptr inbounds double, ptr %x, i64 %wide
  %xv = load double, ptr %x.at, align 8
  %product = fmul double %av, %xv
  %s.next = fadd double %s, %product
  %k.next = add nsw i64 %k, 1
  %end = icmp eq i64 %k.next, %to
  br i1 %end, label %row.end, label %row.body
row.end:
  %sum = phi double [ %s.next, %row.body ]
  br label %rows.latch
rows.latch:
  %result = phi double [ 0.0, %rows ], [ %sum, %row.end ]
  %y.at = getelementptr inbounds double, ptr %y, i64 %j
  store double %result, ptr %y.at, align 8
  %done = icmp eq i64 %j.next, %n
  br i1 %done, label %exit, label %rows
exit:
  ret void
}

; Negative twin: strides say it all.
define void @band(ptr %a, i64 %n) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = getelementptr inbounds i32, ptr %a, i64 %i
  store i32 0, ptr %p, align 4
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %body
exit:
  ret void
}
