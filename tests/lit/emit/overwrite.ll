; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A nest that overwrites is entered only where its guard holds, and its entry is a barrier to loads; other nests'
; entries are not.
; RUN: %pagecast-opt -passes='loop-simplify,lcssa,pagecast' < "%s" | %FileCheck "%s"

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK: [[GROUPS:@.*]] = private unnamed_addr constant {{.*}} { i32 34, i32 8,
; CHECK: {{.*}} = private unnamed_addr constant {{.*}} { i32 3, i32 8,

; CHECK-LABEL: define void @planes(
; CHECK: %large = icmp uge i64
; CHECK: [[GUARD:%.*]] = freeze i1 %some
; CHECK: [[BOTH:%.*]] = and i1 %large, [[GUARD]]
; CHECK: br i1 [[BOTH]]
; CHECK: call preserve_allcc { i64, ptr } @__pagecast_enter({{.*}}){{$}}
define void @planes(ptr %a, i64 %n, i64 %m) {
entry:
  %any = icmp sgt i64 %n, 0
  %some = icmp sgt i64 %m, 0
  br i1 %any, label %outer, label %done
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  br i1 %some, label %before, label %latch
before:
  %first = mul nuw nsw i64 %i, %m
  %row = getelementptr double, ptr %a, i64 %first
  br label %inner
inner:
  %j = phi i64 [ 0, %before ], [ %j.next, %inner ]
  %at = getelementptr double, ptr %row, i64 %j
  store double 1.5, ptr %at
  %j.next = add nuw nsw i64 %j, 1
  %j.end = icmp eq i64 %j.next, %m
  br i1 %j.end, label %latch, label %inner
latch:
  %i.next = add nuw nsw i64 %i, 1
  %i.end = icmp eq i64 %i.next, %n
  br i1 %i.end, label %done, label %outer
done:
  ret void
}

; CHECK-LABEL: define void @update(
; CHECK: %large = icmp uge i64
; CHECK: br i1 %large
; CHECK: call preserve_allcc { i64, ptr } @__pagecast_enter({{.*}}) [[QUIET:#[0-9]+]]
define void @update(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %at = getelementptr double, ptr %a, i64 %i
  %old = load double, ptr %at
  %new = fadd double %old, 1.0
  store double %new, ptr %at
  %i.next = add nuw nsw i64 %i, 1
  %end = icmp eq i64 %i.next, %n
  br i1 %end, label %done, label %loop
done:
  ret void
}

; CHECK: attributes [[QUIET]] = { memory(argmem: readwrite, inaccessiblemem: readwrite) }
