// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module with nothing to tell gets nothing, however many small globals it has.
// RUN: %pagecast-clang -O2 -S -emit-llvm "%s" -o - | %FileCheck "%s"
// RUN: %pagecast-clang -O0 -S -emit-llvm "%s" -o - | %FileCheck "%s"
// CHECK-NOT: {{^(@|declare|define).*}}pagecast
// CHECK-NOT: llvm.global_ctors
int small[100];
#define TEN(name) char name##0[4095], name##1[4095], name##2[4095], name##3[4095], name##4[4095], \
                       name##5[4095], name##6[4095], name##7[4095], name##8[4095], name##9[4095]
TEN(many0); TEN(many1); TEN(many2); TEN(many3); TEN(many4); TEN(many5); TEN(many6); TEN(many7); TEN(many8); TEN(many9);
int f(int n) {
  int s = 0;
  for (int i = 0; i < 100; i++)
    s += small[i] * n;
  return s;
}
