// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module with nothing to tell gets nothing.
// RUN: %pagecast-clang -O2 -S -emit-llvm %s -o - | %FileCheck %s
// RUN: %pagecast-clang -O0 -S -emit-llvm %s -o - | %FileCheck %s
// CHECK-NOT: @{{.*}}pagecast
// CHECK-NOT: llvm.global_ctors
int small[100];
int f(int n) {
  int s = 0;
  for (int i = 0; i < 100; i++)
    s += small[i] * n;
  return s;
}
