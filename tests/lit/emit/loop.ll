; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A nest of one loop: the gate, the arguments, the strips, the tick and the exit.
; RUN: %pagecast-opt -passes='pagecast,verify' %s | %FileCheck %s
; RUN: %pagecast-opt -passes='pagecast,verify<domtree>,verify<loops>,verify<scalar-evolution>' %s -o /dev/null
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

; CHECK: @__pagecast_gate = internal externally_initialized global i64 -1, align 8
; CHECK: @.pagecast.cache = internal global i64 0
; reads = 1, writes = 2
; CHECK: @.pagecast.groups = private unnamed_addr constant [1 x { i32, i32, i64, i64, i32, i32, ptr }] [{ i32, i32, i64, i64, i32, i32, ptr } { i32 3, i32 4, i64 0, i64 8, i32 0, i32 0, ptr @.pagecast.str }]
; abi, loops, ticked, strips, groups, live, groups, slice, file, function, line, reserved, cache
; CHECK: @.pagecast.nest = private unnamed_addr constant {{.*}} { i32 1, i32 1, i32 0, i32 1, i32 1, i32 0, ptr @.pagecast.groups, ptr null, ptr @{{.*}}, ptr @{{.*}}, i32 0, i32 0, ptr @.pagecast.cache }
; CHECK-NOT: @.pagecast.nest

; CHECK-LABEL: define void @loop(
; CHECK-NEXT: entry:
; CHECK-NEXT: %pagecast.arguments = alloca [3 x i64], align 16
; CHECK: [[LAST:%.*]] = add i64 %n, -1
; CHECK-NEXT: [[TRIPS:%.*]] = add i64 [[LAST]], 1
; CHECK-NEXT: [[BYTES:%.*]] = mul i64 20, [[TRIPS]]
; CHECK-NEXT: %footprint = freeze i64 [[BYTES]]
; CHECK-NEXT: %gate = load i64, ptr @__pagecast_gate, align 8
; CHECK-NEXT: %large = icmp uge i64 %footprint, %gate
; CHECK-NEXT: br i1 %large, label %[[HINTED:.*]], label %[[PLAIN:.*]], {{.*}}!prof [[UNLIKELY:![0-9]+]]

; The arguments: trip count, base, stride.
; CHECK: [[HINTED]]:
; CHECK-NEXT: [[AT0:%.*]] = getelementptr inbounds i64, ptr %pagecast.arguments, i64 0
; CHECK-NEXT: store i64 [[TRIPS]], ptr [[AT0]]
; CHECK-NEXT: [[BASE:%.*]] = getelementptr i8, ptr %a, i64 12
; CHECK-NEXT: [[WORD:%.*]] = ptrtoint ptr [[BASE]] to i64
; CHECK-NEXT: [[AT1:%.*]] = getelementptr inbounds i64, ptr %pagecast.arguments, i64 1
; CHECK-NEXT: store i64 [[WORD]], ptr [[AT1]]
; CHECK-NEXT: [[AT2:%.*]] = getelementptr inbounds i64, ptr %pagecast.arguments, i64 2
; CHECK-NEXT: store i64 20, ptr [[AT2]]
; CHECK-NEXT: %granted = call ptr @__pagecast_enter(ptr @.pagecast.nest, ptr %pagecast.arguments, ptr %pagecast.arguments)
; CHECK-NEXT: %opened = icmp ne ptr %granted, null
; CHECK: %ticket = select i1 %opened, ptr %granted, ptr %pagecast.arguments
; CHECK: [[STRIPFIELD:%.*]] = getelementptr inbounds {{.*}} ptr %ticket, i32 0, i32 2
; CHECK-NEXT: [[STRIP:%.*]] = load i64, ptr [[STRIPFIELD]]
; CHECK-NEXT: [[STRIPLAST:%.*]] = sub i64 [[STRIP]], 1
; CHECK-NEXT: br label %[[STRIPHEADER:.*]]

; CHECK: [[STRIPHEADER]]:
; CHECK: %strip.done = phi i64 [ 0, %[[HINTED]] ], [ %strip.done.next, %{{.*}} ]
; CHECK: %strip.remaining = sub nuw i64 [[LAST]], %strip.done
; CHECK: %strip.last = call i64 @llvm.umin.i64(i64 %strip.remaining, i64 [[STRIPLAST]])

; No call in the strip, and the counter of its own.
; CHECK: body.hinted:
; CHECK-NEXT: %strip.count = phi i64 [ 0, %[[STRIPHEADER]] ], [ %strip.next, %body.hinted ]
; CHECK-NOT: call
; CHECK: icmp eq i64 %strip.count, %strip.last
; CHECK-NEXT: br i1 {{.*}}, label %[[STRIPLATCH:[^,]*]], label %body.hinted, !llvm.loop [[INNER:![0-9]+]]

; CHECK: [[STRIPLATCH]]:
; CHECK: %strip.more = icmp ugt i64 %strip.remaining, [[STRIPLAST]]
; CHECK: %step = add i64 {{.*}}, 1
; CHECK: store i64 %step
; CHECK: %wake = load volatile i64
; CHECK-NEXT: icmp uge i64 %step, %wake
; CHECK-NEXT: br i1 {{.*}}!prof [[UNLIKELY]]
; CHECK: call void @__pagecast_tick(ptr %ticket)
; CHECK: br i1 %strip.more, label %[[STRIPHEADER]], label %[[LEAVE:.*]], !llvm.loop [[OUTER:![0-9]+]]

; The other copy is as it was.
; CHECK: [[PLAIN]]:
; CHECK-NEXT: br label %body
; CHECK: body:
; CHECK-NOT: pagecast
; CHECK: icmp eq i64 %next, %n
; CHECK-NEXT: br i1 {{.*}} label %body, !llvm.loop [[ORIGINAL:![0-9]+]]

; CHECK: [[LEAVE]]:
; CHECK: br i1 %opened
; CHECK: call void @__pagecast_exit(ptr %ticket)
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

; CHECK: declare extern_weak noalias ptr @__pagecast_enter(ptr nocapture, ptr nocapture, ptr nocapture)
; CHECK: declare extern_weak void @__pagecast_tick(ptr nocapture)
; CHECK: declare extern_weak void @__pagecast_exit(ptr nocapture)

; Each loop has an ID of its own; the strip's keeps what the source asked for.
; CHECK: [[INNER]] = distinct !{[[INNER]], [[PROGRESS:![0-9]+]], [[WIDTH:![0-9]+]], [[NOUNROLL:![0-9]+]]}
; CHECK: [[PROGRESS]] = !{!"llvm.loop.mustprogress"}
; CHECK: [[WIDTH]] = !{!"llvm.loop.vectorize.width", i32 4}
; CHECK: [[NOUNROLL]] = !{!"llvm.loop.unroll.disable"}
; CHECK: [[OUTER]] = distinct !{[[OUTER]], [[NOUNROLL]], {{![0-9]+}}}
; CHECK: [[ORIGINAL]] = distinct !{[[ORIGINAL]], [[PROGRESS]], [[WIDTH]]}
!0 = distinct !{!0, !1, !2}
!1 = !{!"llvm.loop.mustprogress"}
!2 = !{!"llvm.loop.vectorize.width", i32 4}
