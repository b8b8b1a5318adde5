// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Globals that the runtime may take for large are recorded at every level; what is smaller than a page, constant or of one
// thread is not. There is no nest, so there is no gate.
// RUN: %pagecast-clang -O0 -S -emit-llvm "%s" -o - | %FileCheck "%s"
// RUN: %pagecast-clang -O2 -S -emit-llvm "%s" -o - | %FileCheck "%s"
// RUN: %pagecast-clang -O2 "%s" %fake-runtime -o "%t"
// RUN: env FAKE_PRINT=1 "%t" 2>&1 | %FileCheck --check-prefix=OUT "%s"

// CHECK: @.pagecast.globals = private constant [4 x { ptr, i64, ptr }] [{ ptr, i64, ptr } { ptr @filled, i64 8000000, ptr @{{.*}} }, { ptr, i64, ptr } { ptr @hidden, i64 2000000, ptr @{{.*}} }, { ptr, i64, ptr } { ptr @zeroed, i64 1048576, ptr @{{.*}} }, { ptr, i64, ptr } { ptr @page, i64 4096, ptr @{{.*}} }]
// CHECK: @.pagecast.module = private constant { i32, i32, ptr, ptr } { i32 8, i32 4, ptr @.pagecast.globals, ptr null }
// CHECK: @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 101, ptr @__pagecast_module_init, ptr null }]
// CHECK: define internal void @__pagecast_module_init()
// CHECK: icmp ne {{\(?}}ptr @__pagecast_register, {{(ptr )?}}null
// CHECK: call void @__pagecast_register(ptr {{(nonnull )?}}@.pagecast.module)
// CHECK: declare extern_weak void @__pagecast_register(ptr)

// OUT: global filled 8000000
// OUT-NEXT: global hidden 2000000
// OUT-NEXT: global zeroed 1048576
// OUT-NEXT: global page 4096
// OUT-NOT: global
char zeroed[1 << 20];
double filled[1000000] = {1, 2, 3};
static char hidden[2000000];
char page[4096];
char almost[4095];
const char constant[2 << 20] = {1};
extern char elsewhere[2 << 20];
__thread char local[2 << 20];

int main(int argc, char **argv) {
  hidden[argc] = argv[0][0];
  return hidden[argc + 1];
}
