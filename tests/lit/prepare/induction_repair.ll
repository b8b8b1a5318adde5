; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Counters that go on with a phi: j + 1, computed before the inner loop where there is one, and on the way past it where it
; is empty. The outer loop is counted all the same; its promise not to wrap goes where one way does not make it.
; RUN: %pagecast-opt -passes='loop-simplify,lcssa,print<pagecast-nests>' -disable-output < "%s" 2>&1 | %FileCheck "%s"
; RUN: %pagecast-opt -passes='loop-simplify,lcssa,pagecast' < "%s" | %FileCheck --check-prefix=CODE "%s"

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: nests of 'guarded'
; CHECK-NEXT: nest 0: loops=2
; CHECK: loop 0: {{.*}} backedges=(-1 + %n)
; CHECK: writes element=8 [0, 8) base=%b strides={(8 * %m), 8}
; CODE-LABEL: define void @guarded(
; CODE: outer.end:
; CODE-NOT: phi i64
; CODE: %next = add nuw i64 %j, 1
define void @guarded(ptr %b, i64 %n, i64 %m, ptr %flags) {
entry:
  br label %outer
outer:
  %j = phi i64 [ 0, %entry ], [ %next, %outer.end ]
  %flag = getelementptr i8, ptr %flags, i64 %j
  %used = load i8, ptr %flag
  %some = icmp eq i8 %used, 0
  br i1 %some, label %inner.ahead, label %past
past:
  %after = add nuw nsw i64 %j, 1
  br label %outer.end
inner.ahead:
  %before = add nuw i64 %j, 1
  %row = mul i64 %j, %m
  %to = getelementptr double, ptr %b, i64 %row
  br label %inner
inner:
  %i = phi i64 [ 0, %inner.ahead ], [ %i.next, %inner ]
  %at = getelementptr double, ptr %to, i64 %i
  %value = uitofp i64 %before to double
  store double %value, ptr %at
  %i.next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %i.next, %m
  br i1 %more, label %inner, label %outer.end
outer.end:
  %next = phi i64 [ %after, %past ], [ %before, %inner ]
  %again = icmp ne i64 %next, %n
  br i1 %again, label %outer, label %done
done:
  ret void
}

; The two ways differ: it counts no one knows how often.
; CHECK-LABEL: nests of 'differs'
; CHECK-NEXT: nest 0: loops=1
; CODE-LABEL: define void @differs(
; CODE: %next = phi i64
define void @differs(ptr %b, i64 %n, i64 %m, ptr %flags) {
entry:
  br label %outer
outer:
  %j = phi i64 [ 0, %entry ], [ %next, %outer.end ]
  %flag = getelementptr i8, ptr %flags, i64 %j
  %used = load i8, ptr %flag
  %some = icmp eq i8 %used, 0
  br i1 %some, label %inner.ahead, label %past
past:
  %after = add nuw nsw i64 %j, 2
  br label %outer.end
inner.ahead:
  %before = add nuw nsw i64 %j, 1
  %row = mul i64 %j, %m
  %to = getelementptr double, ptr %b, i64 %row
  br label %inner
inner:
  %i = phi i64 [ 0, %inner.ahead ], [ %i.next, %inner ]
  %at = getelementptr double, ptr %to, i64 %i
  %value = uitofp i64 %before to double
  store double %value, ptr %at
  %i.next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %i.next, %m
  br i1 %more, label %inner, label %outer.end
outer.end:
  %next = phi i64 [ %after, %past ], [ %before, %inner ]
  %again = icmp ne i64 %next, %n
  br i1 %again, label %outer, label %done
done:
  ret void
}
