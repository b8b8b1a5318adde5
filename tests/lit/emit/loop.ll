; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A nest of one loop: the gate, the words, the strips.
; RUN: %pagecast-opt -passes='pagecast,verify' < "%s" | %FileCheck "%s"
; RUN: %pagecast-opt -passes='pagecast,verify<domtree>,verify<loops>,verify<scalar-evolution>' < "%s" -o /dev/null
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

; CHECK: @__pagecast_gate = internal externally_initialized global [17 x i64] [i64 -1, i64 -1, {{.*}}, i64 -1], align 8
; CHECK: @.pagecast.cache = internal global i64 0
; reads = 1, writes = 2
; CHECK: @.pagecast.groups = private unnamed_addr constant [1 x { i32, i32, i64, i64, i32, i32, ptr }] [{ i32, i32, i64, i64, i32, i32, ptr } { i32 3, i32 4, i64 0, i64 8, i32 0, i32 0, ptr @.pagecast.str }]
; The arguments: trip count = n, base = a + 12, stride = 20.
; CHECK: @.pagecast.words = private unnamed_addr constant [3 x { i64, i32, i32 }] [{ i64, i32, i32 } { i64 0, i32 1, i32 0 }, { i64, i32, i32 } { i64 12, i32 1, i32 1 }, { i64, i32, i32 } { i64 20, i32 0, i32 0 }]
; abi, loops, ticked, strips, groups, live, dynamic, constants, groups, words, slice, constants, prologue, file, function, line, operations of the prologue, cache, closes, root
; CHECK: @.pagecast.nest = private unnamed_addr constant {{.*}} { i32 8, i32 1, i32 0, i32 1, i32 1, i32 0, i32 2, i32 0, ptr @.pagecast.groups, ptr @.pagecast.words, ptr null, ptr null, ptr null, ptr @{{.*}}, ptr @{{.*}}, i32 0, i32 0, ptr @.pagecast.cache, i32 1, i32 0 }
; CHECK-NOT: @.pagecast.nest

; CHECK-LABEL: define void @loop(
; CHECK-NEXT: entry:
; An iteration touches 20 bytes: the gate is that of 32.
; CHECK-NEXT: %footprint = freeze i64 %n
; CHECK-NEXT: %gate = load i64, ptr getelementptr inbounds ([17 x i64], ptr @__pagecast_gate, i64 0, i64 5), align 8
; CHECK-NEXT: %large = icmp uge i64 %footprint, %gate
; CHECK-NEXT: br i1 %large, label %[[ENTER:.*]], label %[[BEFORE:.*]], !prof [[UNLIKELY:![0-9]+]]

; CHECK: [[ENTER]]:
; CHECK-NEXT: [[A:%.*]] = ptrtoint ptr %a to i64
; CHECK-NEXT: [[N:%.*]] = inttoptr i64 %n to ptr
; CHECK-NEXT: call { i64, ptr } @__pagecast_enter(ptr @.pagecast.nest, ptr [[N]], i64 [[A]], i64 poison, i64 poison, i64 poison, i64 poison)
; CHECK: br label %[[BEFORE]]

; CHECK: [[BEFORE]]:
; CHECK-NEXT: %limit = phi i64 [ %n, %entry ], [ %count, %[[ENTER]] ]
; CHECK-NEXT: %ticket = phi ptr [ null, %entry ], [ %granted, %[[ENTER]] ]

; CHECK: body.strip:
; CHECK-NEXT: %i.resume = phi i64 [ 0, %[[BEFORE]] ], [ %next.strip, %body.strip.next ]
; CHECK-NEXT: %strip.limit = phi i64 [ %limit, %[[BEFORE]] ], [ [[MORE:%.*]], %body.strip.next ]

; One copy, no call in the strip, and no counter beside its own.
; CHECK: body:
; CHECK-NEXT: %i = phi i64 [ %i.resume, %body.strip ], [ %next, %body ]
; CHECK-NOT: phi
; CHECK-NOT: call
; CHECK: icmp eq i64 %next, %strip.limit
; CHECK-NEXT: br i1 {{.*}}, label %body.strip.end, label %body, !prof [[LONG:![0-9]+]], !llvm.loop [[INNER:![0-9]+]]

; CHECK: body.strip.end:
; CHECK: %opened = icmp ne ptr %ticket, null
; CHECK-NEXT: br i1 %opened, label %body.strip.next, label %exit, !prof [[UNLIKELY]]

; CHECK: body.strip.next:
; CHECK-NEXT: [[MORE]] = call i64 @__pagecast_next(i64 %next.strip, i64 %n, ptr %ticket)
; CHECK-NEXT: [[LAST:%.*]] = icmp eq i64 [[MORE]], %next.strip
; CHECK-NEXT: br i1 [[LAST]], label %exit, label %body.strip, !llvm.loop [[OUTER:![0-9]+]]
; CHECK-NOT: {{^body}}
; CHECK: ret void
define void @loop(ptr %a, i64 %n) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %scaled = mul nuw nsw i64 %i, 5
  %index = add nuw nsw i64 %scaled, 3
  %p = getelementptr inbounds i32, ptr %a, i64 %index
  %x = load i32, ptr %p, align 4
  %q = getelementptr inbounds i8, ptr %p, i64 4
  store i32 %x, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %body, !llvm.loop !0
exit:
  ret void
}

; Negative twin: volatile accesses only.
; CHECK-LABEL: define void @volatile(
; CHECK-NOT: pagecast
; CHECK: ret void
define void @volatile(ptr %a, i64 %n) {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = getelementptr inbounds i32, ptr %a, i64 %i
  store volatile i32 0, ptr %p, align 4
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %body
exit:
  ret void
}

; Negative twin: a function that asked to be left alone.
; CHECK-LABEL: define void @avoided(
; CHECK-NOT: pagecast_
; CHECK: ret void
define void @avoided(ptr %a, i64 %n) "nopagecast" {
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

; CHECK: declare extern_weak { i64, ptr } @__pagecast_enter(ptr nocapture, ptr nocapture readonly, i64, i64, i64, i64, i64)
; CHECK: declare extern_weak i64 @__pagecast_next(i64, i64, ptr nocapture)
; CHECK-NOT: declare{{.*}}@__pagecast_

; CHECK: [[UNLIKELY]] = !{!"branch_weights", i32 1, i32 64}
; CHECK: [[LONG]] = !{!"branch_weights", i32 1, i32 1000}
; Each loop has an ID of its own; the strip's keeps what the source asked for.
; CHECK: [[INNER]] = distinct !{[[INNER]], [[PROGRESS:![0-9]+]], [[WIDTH:![0-9]+]]}
; CHECK: [[PROGRESS]] = !{!"llvm.loop.mustprogress"}
; CHECK: [[WIDTH]] = !{!"llvm.loop.vectorize.width", i32 4}
; CHECK: [[OUTER]] = distinct !{[[OUTER]], [[NOUNROLL:![0-9]+]], {{![0-9]+}}}
; CHECK: [[NOUNROLL]] = !{!"llvm.loop.unroll.disable"}
!0 = distinct !{!0, !1, !2}
!1 = !{!"llvm.loop.mustprogress"}
!2 = !{!"llvm.loop.vectorize.width", i32 4}
