// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a copy begins: on its own stack, traced by the controller. It locks itself up, tells the controller by a
// breakpoint, and goes on where the original is, by registers alone: neither the program's stack nor its floating-point
// state is touched.
#include "speculate/copy/system.h"
#include <cstddef>

namespace pagecast::speculate {

static_assert(offsetof(Order, resume) == 0 && offsetof(Resume, rip) == 128 && offsetof(Resume, flags) == 136);

asm(R"(
  .section .head, "awx"
  .globl pagecast_image
  .hidden pagecast_image
pagecast_image:
  .quad pagecast_enter - pagecast_image, pagecast_order - pagecast_image
  .quad pagecast_image_size - pagecast_image
  .hidden pagecast_image_size
  .text
pagecast_enter:
  call pagecast_lock_up
  int3
  pushq pagecast_order+136(%rip)
  popfq
  mov pagecast_order+0(%rip), %rax
  mov pagecast_order+8(%rip), %rbx
  mov pagecast_order+16(%rip), %rcx
  mov pagecast_order+24(%rip), %rdx
  mov pagecast_order+32(%rip), %rsi
  mov pagecast_order+40(%rip), %rdi
  mov pagecast_order+48(%rip), %rbp
  mov pagecast_order+56(%rip), %rsp
  mov pagecast_order+64(%rip), %r8
  mov pagecast_order+72(%rip), %r9
  mov pagecast_order+80(%rip), %r10
  mov pagecast_order+88(%rip), %r11
  mov pagecast_order+96(%rip), %r12
  mov pagecast_order+104(%rip), %r13
  mov pagecast_order+112(%rip), %r14
  mov pagecast_order+120(%rip), %r15
  jmp *pagecast_order+128(%rip)
  .globl pagecast_restorer
  .hidden pagecast_restorer
pagecast_restorer:
  mov $15, %eax
  syscall
)");

extern "C" Order pagecast_order;
Order pagecast_order;

extern "C" void *memcpy(void *to, const void *from, unsigned long bytes) {
  void *const result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
  return result;
}

extern "C" void *memset(void *to, int value, unsigned long bytes) {
  void *const result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
  return result;
}

} // namespace pagecast::speculate
