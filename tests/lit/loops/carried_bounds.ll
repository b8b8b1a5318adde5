; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Bounds and strides that earlier passes carry from iteration to iteration, as a store in between might change them: first
; what was stored before the loop, a constant or not, then what was loaded in the inner one, and 0 where that is known to
; have been empty.
; RUN: %pagecast-opt -passes='loop-simplify,lcssa,print<pagecast-nests>' -disable-output < "%s" 2>&1 | %FileCheck "%s"

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%shape = type { i64, i64 }

; CHECK-LABEL: nests of 'carried'
; CHECK: nest 0: loops=2
; CHECK: loop 0: {{.*}} backedges=(0 smax (-1 + %n))
; CHECK: loop 1: {{.*}}speculated
; CHECK: writes element=1 [0, 1) base=%data strides={1, %n}
define void @carried(ptr %shape, ptr %data, i64 %n) {
entry:
  %columns.at = getelementptr %shape, ptr %shape, i64 0, i32 1
  store i64 %n, ptr %shape
  store i64 5000, ptr %columns.at
  br label %outer
outer:
  %n.now = phi i64 [ %n, %entry ], [ %n.next, %outer.end ]
  %columns = phi i64 [ 5000, %entry ], [ %columns.next, %outer.end ]
  %j = phi i64 [ 0, %entry ], [ %j.next, %outer.end ]
  %none = icmp eq i64 %columns, 0
  br i1 %none, label %outer.end, label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %row = mul i64 %i, %n.now
  %to = getelementptr i8, ptr %data, i64 %row
  %at = getelementptr i8, ptr %to, i64 %j
  %value = trunc i64 %i to i8
  store i8 %value, ptr %at
  %i.next = add nuw i64 %i, 1
  %columns.again = load i64, ptr %columns.at
  %more = icmp ult i64 %i.next, %columns.again
  br i1 %more, label %inner, label %inner.end
inner.end:
  %n.again = load i64, ptr %shape
  br label %outer.end
outer.end:
  %n.next = phi i64 [ %n.now, %outer ], [ %n.again, %inner.end ]
  %columns.next = phi i64 [ 0, %outer ], [ %columns.again, %inner.end ]
  %j.next = add nuw i64 %j, 1
  %again = icmp ult i64 %j.next, %n.next
  br i1 %again, label %outer, label %done
done:
  ret void
}

; Negative twins: the loop itself stores to its bound in each iteration; two places take turns; and what only becomes 0 now
; and then is no bound that is loaded again.
; CHECK-LABEL: nests of 'stored'
; CHECK-NEXT: refused UnknownTripCount
define void @stored(ptr %bound, ptr %data, i64 %n) {
entry:
  br label %loop
loop:
  %n.now = phi i64 [ %n, %entry ], [ %n.again, %loop ]
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %at = getelementptr i64, ptr %data, i64 %i
  store i64 %n.now, ptr %at
  %less = sub i64 %n.now, 1
  store i64 %less, ptr %bound
  call void @touch()
  %n.again = load i64, ptr %bound
  %i.next = add nuw i64 %i, 1
  %more = icmp ult i64 %i.next, %n.again
  br i1 %more, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: nests of 'in_turns'
; CHECK-NEXT: refused UnknownTripCount
define void @in_turns(ptr %one, ptr %two, ptr %data, i64 %n) {
entry:
  br label %loop
loop:
  %n.now = phi i64 [ %n, %entry ], [ %n.next, %end ]
  %i = phi i64 [ 0, %entry ], [ %i.next, %end ]
  %at = getelementptr i64, ptr %data, i64 %i
  store i64 %n.now, ptr %at
  %odd = trunc i64 %n.now to i1
  br i1 %odd, label %first, label %second
first:
  %n.one = load i64, ptr %one
  br label %end
second:
  %n.two = load i64, ptr %two
  br label %end
end:
  %n.next = phi i64 [ %n.one, %first ], [ %n.two, %second ]
  %i.next = add nuw i64 %i, 1
  %more = icmp ult i64 %i.next, %n.next
  br i1 %more, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: nests of 'only_zero'
; CHECK-NEXT: refused UnknownTripCount
define void @only_zero(ptr %data, i64 %n) {
entry:
  br label %loop
loop:
  %n.now = phi i64 [ %n, %entry ], [ %n.next, %end ]
  %i = phi i64 [ 0, %entry ], [ %i.next, %end ]
  %at = getelementptr i64, ptr %data, i64 %i
  %value = load i64, ptr %at
  %enough = icmp eq i64 %value, 0
  br i1 %enough, label %zero, label %end
zero:
  br label %end
end:
  %n.next = phi i64 [ 0, %zero ], [ %n.now, %loop ]
  %i.next = add nuw i64 %i, 1
  %more = icmp ult i64 %i.next, %n.next
  br i1 %more, label %loop, label %done
done:
  ret void
}

declare void @touch()
