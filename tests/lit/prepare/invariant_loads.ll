; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A bound that is loaded again in every iteration, and what may store to it. Where nothing does, it is one value and the
; loop overwrites.
; RUN: %pagecast-opt -passes='loop-simplify,lcssa,print<pagecast-nests>' -disable-output < "%s" 2>&1 | %FileCheck "%s"
; RUN: %pagecast-opt -passes='loop-simplify,lcssa,pagecast' < "%s" | %FileCheck --check-prefix=CODE "%s"

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@n = internal global i64 0
@shared = global i64 0
@a = internal global [1000000 x i64] zeroinitializer

declare void @other()

; CHECK-LABEL: nests of 'reloaded'
; CHECK: backedges=(-1 + %invariant)
; CHECK: writes overwrites element=8 [0, 8) {{.*}}name=a
; CODE-LABEL: define void @reloaded(
; CODE: %invariant = load i64, ptr @n
; CODE-NOT: load i64, ptr @n
; CODE-LABEL: define void @stored(
; CODE: loop:
; CODE: load i64, ptr @n
; CODE-LABEL: define void @aliased(
define void @reloaded() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds [1000000 x i64], ptr @a, i64 0, i64 %i
  store i64 1, ptr %at
  %next = add nuw nsw i64 %i, 1
  %bound = load i64, ptr @n
  %more = icmp ne i64 %next, %bound
  br i1 %more, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: nests of 'stored'
; CHECK-NOT: overwrites
define void @stored() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds [1000000 x i64], ptr @a, i64 0, i64 %i
  store i64 1, ptr %at
  %next = add nuw nsw i64 %i, 1
  %bound = load i64, ptr @n
  %less = sub i64 %bound, 1
  store i64 %less, ptr @n
  %more = icmp ult i64 %next, %bound
  br i1 %more, label %loop, label %done
done:
  ret void
}

; The bound may be an element.
; CHECK-LABEL: nests of 'aliased'
; CHECK-NOT: overwrites
; CODE: loop:
; CODE: load i64, ptr @shared
; CODE-LABEL: define void @called(
; CODE: call void @other()
; CODE: load i64, ptr @shared
; CODE-LABEL: define void @synchronized(
; CODE: fence seq_cst
; CODE: load i64, ptr @shared
; CODE-LABEL: define void @guarded(
; CODE: look:
; CODE: load i64, ptr %bounds
define void @aliased(ptr %p) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i64, ptr %p, i64 %i
  store i64 1, ptr %at
  %next = add nuw nsw i64 %i, 1
  %bound = load i64, ptr @shared
  %more = icmp ult i64 %next, %bound
  br i1 %more, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: nests of 'called'
; CHECK-NOT: invariant
; CHECK-NOT: overwrites
define void @called() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds [1000000 x i64], ptr @a, i64 0, i64 %i
  store i64 1, ptr %at
  call void @other()
  %next = add nuw nsw i64 %i, 1
  %bound = load i64, ptr @shared
  %more = icmp ult i64 %next, %bound
  br i1 %more, label %loop, label %done
done:
  ret void
}

; Others are told to look, and may store before they let the loop go on.
; CHECK-LABEL: nests of 'synchronized'
; CHECK-NOT: invariant
; CHECK-NOT: overwrites
define void @synchronized() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds [1000000 x i64], ptr @a, i64 0, i64 %i
  store i64 1, ptr %at
  fence seq_cst
  %next = add nuw nsw i64 %i, 1
  %bound = load i64, ptr @shared
  %more = icmp ult i64 %next, %bound
  br i1 %more, label %loop, label %done
done:
  ret void
}

; A load that nobody knows to be safe is not made earlier, unless it is made in any case.
; CHECK-LABEL: nests of 'guarded'
; CHECK-NOT: overwrites
define void @guarded(ptr noalias %bounds) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %at = getelementptr inbounds [1000000 x i64], ptr @a, i64 0, i64 %i
  store i64 1, ptr %at
  %next = add nuw nsw i64 %i, 1
  %first = icmp eq i64 %i, 0
  br i1 %first, label %latch, label %look
look:
  %last = load i64, ptr %bounds
  br label %latch
latch:
  %bound = phi i64 [ 100000, %loop ], [ %last, %look ]
  %more = icmp ult i64 %next, %bound
  br i1 %more, label %loop, label %done
done:
  ret void
}

; What earlier passes make of a bound that is reloaded where the inner loop ends: phis of loads. The value from before
; the loops will do, and the condition on the inner loop goes with it.
; CHECK-LABEL: nests of 'phis'
; CHECK: loops=2
; CHECK: backedges=
; CHECK: backedges=(-1 + %m)
; CHECK: writes overwrites element=8 [0, 8) base=@a strides={(8 * %m), 8}
; CODE-LABEL: define void @phis(
; CODE: load i64, ptr @n
; CODE-NOT: load i64, ptr @n
; CODE-LABEL: define void @phis_changed(
define void @phis(i64 %rows) {
entry:
  %m = load i64, ptr @n
  %any = icmp sgt i64 %rows, 0
  br i1 %any, label %outer, label %done
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %known = phi i64 [ %m, %entry ], [ %kept, %latch ]
  %some = icmp ne i64 %known, 0
  br i1 %some, label %before, label %latch
before:
  %row = mul i64 %i, %known
  br label %inner
inner:
  %j = phi i64 [ 0, %before ], [ %j.next, %inner ]
  %cell = add i64 %row, %j
  %at = getelementptr inbounds [1000000 x i64], ptr @a, i64 0, i64 %cell
  store i64 1, ptr %at
  %j.next = add nuw nsw i64 %j, 1
  %again = load i64, ptr @n
  %j.end = icmp eq i64 %j.next, %again
  br i1 %j.end, label %after, label %inner
after:
  %last = phi i64 [ %again, %inner ]
  br label %latch
latch:
  %kept = phi i64 [ %last, %after ], [ %known, %outer ]
  %i.next = add nuw nsw i64 %i, 1
  %i.end = icmp eq i64 %i.next, %rows
  br i1 %i.end, label %done, label %outer
done:
  ret void
}

; The same after a store to the bound: the loops count to another value than %m, which the first row has.
; CHECK-LABEL: nests of 'phis_changed'
; CHECK-NOT: overwrites element=8 [0, 8) base=@a strides={(8 * %m), 8}
; CODE: store i64 7, ptr @n
; CODE: load i64, ptr @n
define void @phis_changed(i64 %rows) {
entry:
  %m = load i64, ptr @n
  store i64 7, ptr @n
  %any = icmp sgt i64 %rows, 0
  br i1 %any, label %outer, label %done
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %known = phi i64 [ %m, %entry ], [ %kept, %latch ]
  %some = icmp ne i64 %known, 0
  br i1 %some, label %before, label %latch
before:
  %row = mul i64 %i, %known
  br label %inner
inner:
  %j = phi i64 [ 0, %before ], [ %j.next, %inner ]
  %cell = add i64 %row, %j
  %at = getelementptr inbounds [1000000 x i64], ptr @a, i64 0, i64 %cell
  store i64 1, ptr %at
  %j.next = add nuw nsw i64 %j, 1
  %again = load i64, ptr @n
  %j.end = icmp eq i64 %j.next, %again
  br i1 %j.end, label %after, label %inner
after:
  %last = phi i64 [ %again, %inner ]
  br label %latch
latch:
  %kept = phi i64 [ %last, %after ], [ %known, %outer ]
  %i.next = add nuw nsw i64 %i, 1
  %i.end = icmp eq i64 %i.next, %rows
  br i1 %i.end, label %done, label %outer
done:
  ret void
}
