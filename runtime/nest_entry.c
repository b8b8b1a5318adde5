// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points that nests call, around the bodies in nests.cpp. On x86-64 they keep the general
// registers (see pagecast/abi.h), which C cannot express:
//
//     pushed, lowest address first: rdi rsi rdx rcx r8 r9 = words[0..5], r10 = the nest
//
// With the return address the stack is aligned for the call. Elsewhere they are plain functions.
#include "pagecast/abi.h"

pagecast_opened pagecast_do_enter(const pagecast_nest *, const uint64_t *words, const void *frame);
void pagecast_do_tick(pagecast_ticket *);
void pagecast_do_exit(pagecast_ticket *);
uint64_t pagecast_do_next(pagecast_ticket *, uint64_t left);

#if defined(__x86_64__)

#define PUSH(r) "  push %" #r "\n  .cfi_adjust_cfa_offset 8\n"
#define POP(r) "  pop %" #r "\n  .cfi_adjust_cfa_offset -8\n"
// `call` begins with the words at %rsp; `third` is where the old value of %rdx goes.
#define ENTRY(name, call, third)                                                                                       \
  __asm__(".text\n  .globl " #name "\n  .type " #name ", @function\n  .p2align 4\n" #name ":\n"                        \
          "  .cfi_startproc\n  endbr64\n" PUSH(r10) PUSH(r9) PUSH(r8) PUSH(rcx) PUSH(rdx) PUSH(rsi) PUSH(rdi) call     \
              POP(rdi) POP(rsi) POP(third) POP(rcx) POP(r8) POP(r9) POP(r10)                                           \
          "  ret\n  .cfi_endproc\n  .size " #name ", . - " #name "\n")

ENTRY(__pagecast_enter, "  mov %r10, %rdi\n  mov %rsp, %rsi\n  lea 64(%rsp), %rdx\n  call pagecast_do_enter\n", r11);
ENTRY(__pagecast_next, "  call pagecast_do_next\n", rdx);
// What returns nothing keeps %rax as well; twice, for the alignment.
ENTRY(__pagecast_tick, PUSH(rax) PUSH(rax) "  call pagecast_do_tick\n" POP(rax) POP(rax), rdx);
ENTRY(__pagecast_exit, PUSH(rax) PUSH(rax) "  call pagecast_do_exit\n" POP(rax) POP(rax), rdx);

#else

#define EXPORTED __attribute__((visibility("default")))

EXPORTED pagecast_opened __pagecast_enter(const pagecast_nest *nest, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                          uint64_t e, uint64_t f) {
  const uint64_t words[PAGECAST_REGISTER_WORDS] = {a, b, c, d, e, f};
  return pagecast_do_enter(nest, words, __builtin_frame_address(0));
}
EXPORTED uint64_t __pagecast_next(pagecast_ticket *ticket, uint64_t left) { return pagecast_do_next(ticket, left); }
EXPORTED void __pagecast_tick(pagecast_ticket *ticket) { pagecast_do_tick(ticket); }
EXPORTED void __pagecast_exit(pagecast_ticket *ticket) { pagecast_do_exit(ticket); }

#endif
