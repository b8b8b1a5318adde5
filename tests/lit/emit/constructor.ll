; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The constructor of a module with a nest and no large global; running the pass twice changes nothing.
; RUN: %pagecast-opt -passes='function(pagecast),pagecast-module,verify' < "%s" | %FileCheck "%s"
; RUN: %pagecast-opt -passes='function(pagecast),pagecast-module,pagecast-module,verify' < "%s" | %FileCheck "%s"
; RUN: %pagecast-opt -passes='pagecast-module,verify' < "%s" | %FileCheck --check-prefix=NONE "%s"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

; CHECK: @.pagecast.module = private constant { i32, i32, ptr, ptr } { i32 8, i32 0, ptr null, ptr @__pagecast_gate }
; CHECK: @llvm.global_ctors = appending global [1 x
; CHECK: define internal void @__pagecast_module_init()
; CHECK: tail call void @__pagecast_register(ptr @.pagecast.module)
; CHECK-NEXT: ret void
; NONE-NOT: pagecast
define void @loop(ptr %a, i64 %n) {
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
