// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points that nests call, around the bodies in nests.cpp. On x86-64 they keep the general and the
// vector registers (see pagecast/abi.h), which C cannot express. The frame, from the stack pointer upwards:
//
//     %xmm0 .. %xmm15, or %ymm0 .. %ymm15                 512 bytes
//     rdi rsi rdx rcx r8 r9 = words[0..5], r10 = the nest   56 bytes; with the return address it is aligned
//
// A step that nobody waits for is counted without any of this, and an entry that is passed over (core/nest/entry_backoff.h)
// saves no vectors. Elsewhere they are plain functions.
#include "pagecast/abi.h"
#include "nest_entry.h" // beside this file, which a fake runtime of the tests includes, too

__thread unsigned pagecast_open_count = 0;

#if defined(__x86_64__)
#include <cpuid.h>

typedef struct {
  uint64_t count, passed_over;
} brief_entry;

/// Passes the entry over if that is decided and the trip count easy to tell; else says no, and pagecast_do_enter decides. That
/// also closes what the program has left without telling. Calls nothing: the vector registers are the program's.
__attribute__((used, visibility("hidden"), target("general-regs-only"),
               no_sanitize("address", "thread", "undefined"))) brief_entry
pagecast_pass_over(const pagecast_nest *nest, const uint64_t *words) {
  const brief_entry no = {0, 0};
  const uint64_t word = __atomic_load_n(nest->cache, __ATOMIC_RELAXED);
  if ((word & PAGECAST_WORD_LEFT_MASK) == 0 || pagecast_open_count) return no;
  const pagecast_word *trips = nest->word + nest->ticked;
  if (trips->scale && trips->from >= nest->dynamic) return no;
  const uint64_t *dynamic = nest->dynamic > PAGECAST_REGISTER_WORDS ? (const uint64_t *)words[0] : words;
  __atomic_store_n(nest->cache, word - (UINT64_C(1) << PAGECAST_WORD_SITE), __ATOMIC_RELAXED);
  const uint64_t scaled = trips->scale ? (uint64_t)(int64_t)trips->scale * dynamic[trips->from] : 0;
  return (brief_entry){trips->constant + scaled, 1};
}

/// Whether programs may use %ymm registers.
__attribute__((visibility("hidden"))) char pagecast_has_ymm;

/// The processor must have them, and the system keep them. By itself, since the compiler's function for it comes with a constructor
/// that asks some ten things of the processor in every process, each of which leaves a virtual machine and takes it 11 us.
void pagecast_look_at_processor(void) {
  unsigned eax, ebx, ecx, edx, kept = 0;
  __cpuid(1, eax, ebx, ecx, edx);
  if (!(ecx & bit_OSXSAVE) || !(ecx & bit_AVX)) return;
  __asm__("xgetbv" : "=a"(kept), "=d"(edx) : "c"(0));
  pagecast_has_ymm = (kept & 6) == 6; // both halves
}

#define PUSH(r) "  push %" #r "\n  .cfi_adjust_cfa_offset 8\n"
#define POP(r) "  pop %" #r "\n  .cfi_adjust_cfa_offset -8\n"

// To and from the 512 bytes above the return address of these two. While the upper half of any register is in use,
// processors execute a program's SSE instructions several times slower (they have to merge), so halves that were not
// are left as they were: they hold zeros, and loading zeros would count as use. Bits 128 to 255 of all registers are
// looked at on the way back, in memory.
#define SAVE(move, r, size, n) "  " move " %" r #n ", 8 + " size " * " #n "(%rsp)\n"
#define LOAD(move, r, size, n) "  " move " 8 + " size " * " #n "(%rsp), %" r #n "\n"
#define UPPER(move, r, size, n) "  vorps 24 + " size " * " #n "(%rsp), %" r ", %" r "\n"
#define ALL(one, move, r, size)                                                                                              \
  one(move, r, size, 0) one(move, r, size, 1) one(move, r, size, 2) one(move, r, size, 3) one(move, r, size, 4)              \
      one(move, r, size, 5) one(move, r, size, 6) one(move, r, size, 7) one(move, r, size, 8) one(move, r, size, 9)          \
          one(move, r, size, 10) one(move, r, size, 11) one(move, r, size, 12) one(move, r, size, 13) one(move, r, size, 14) \
              one(move, r, size, 15)
#define VECTORS(name, with_ymm, one)                                                                                 \
  __asm__(".text\n  .p2align 4\n" #name ":\n  .cfi_startproc\n  cmpb $0, pagecast_has_ymm(%rip)\n  je 1f\n" with_ymm \
          "  ret\n1:\n" ALL(one, "movups", "xmm", "16") "  ret\n  .cfi_endproc\n")
VECTORS(pagecast_save_vectors, ALL(SAVE, "vmovups", "ymm", "32") "  vzeroupper\n", SAVE);
VECTORS(pagecast_load_vectors,
        "  vxorps %xmm0, %xmm0, %xmm0\n" ALL(UPPER, "", "xmm0", "32") "  vptest %xmm0, %xmm0\n  jz 2f\n" //
        ALL(LOAD, "vmovups", "ymm", "32") "  ret\n2:\n  vzeroupper\n" ALL(LOAD, "movups", "xmm", "32"),
        LOAD);

// `first` is done before anything is saved, `brief` with only the general registers saved (to 8: that was all), `call` with
// everything saved; `third` is where the old value of %rdx goes.
#define ENTRY(name, first, brief, call, third)                                                                               \
  __asm__(".text\n  .globl " #name "\n  .type " #name ", @function\n  .p2align 4\n" #name ":\n"                              \
          "  .cfi_startproc\n  endbr64\n" first PUSH(r10) PUSH(r9) PUSH(r8) PUSH(rcx) PUSH(rdx) PUSH(rsi) PUSH(rdi) brief    \
          "  sub $512, %rsp\n  .cfi_adjust_cfa_offset 512\n  call pagecast_save_vectors\n" call                              \
          "  call pagecast_load_vectors\n  add $512, %rsp\n  .cfi_adjust_cfa_offset -512\n8:\n" POP(rdi) POP(rsi) POP(third) \
              POP(rcx) POP(r8) POP(r9) POP(r10) "  ret\n  .cfi_endproc\n  .size " #name ", . - " #name "\n")

// %r11 = the step after this one; to 9: it is one that the runtime waits for.
#define NEXT_STEP "  mov (%rdx), %r11\n  inc %r11\n  cmp 8(%rdx), %r11\n  jae 9f\n"
#define STORE_STEP "  mov %r11, (%rdx)\n"
_Static_assert(__builtin_offsetof(pagecast_ticket, step) == 0 && __builtin_offsetof(pagecast_ticket, wake) == 8 &&
                   __builtin_offsetof(pagecast_ticket, strip) == 16,
               "the entries know the ticket");

ENTRY(__pagecast_enter, "",
      "  mov %r10, %rdi\n  mov %rsp, %rsi\n  call pagecast_pass_over\n  test %edx, %edx\n  mov $0, %edx\n  jne 8f\n",
      "  mov 560(%rsp), %rdi\n  lea 512(%rsp), %rsi\n  lea 576(%rsp), %rdx\n  call pagecast_do_enter\n", r11);
// As pagecast_do_next: %rax = strip - 1 < bound - at ? at + strip : bound.
ENTRY(__pagecast_next,
      NEXT_STEP "  cmp %rdi, %rsi\n  je 9f\n" STORE_STEP "  mov %rsi, %r11\n  sub %rdi, %r11\n  mov 16(%rdx), %rax\n"
                "  dec %rax\n  cmp %r11, %rax\n  lea 1(%rdi,%rax), %rax\n  cmovae %rsi, %rax\n  ret\n9:\n",
      "", "  call pagecast_do_next\n", rdx);
// What returns nothing keeps %rax as well; twice, for the alignment.
ENTRY(__pagecast_tick, NEXT_STEP STORE_STEP "  ret\n9:\n", "",
      PUSH(rax) PUSH(rax) "  mov %rdx, %rdi\n  call pagecast_do_tick\n" POP(rax) POP(rax), rdx);
ENTRY(__pagecast_exit, "", "", PUSH(rax) PUSH(rax) "  mov %rdx, %rdi\n  call pagecast_do_exit\n" POP(rax) POP(rax), rdx);

#else

void pagecast_look_at_processor(void) {}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED pagecast_opened __pagecast_enter(const pagecast_nest *nest, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                          uint64_t f) {
  const uint64_t words[PAGECAST_REGISTER_WORDS] = {a, b, c, d, e, f};
  return pagecast_do_enter(nest, words, __builtin_frame_address(0));
}
EXPORTED uint64_t __pagecast_next(uint64_t at, uint64_t bound, pagecast_ticket *ticket) {
  return pagecast_do_next(at, bound, ticket);
}
EXPORTED void __pagecast_tick(uint64_t a, uint64_t b, pagecast_ticket *ticket) { (void)a, (void)b, pagecast_do_tick(ticket); }
EXPORTED void __pagecast_exit(uint64_t a, uint64_t b, pagecast_ticket *ticket) { (void)a, (void)b, pagecast_do_exit(ticket); }

#endif
