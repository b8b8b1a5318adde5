// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that nests call, around bodies that overwrite all vector registers.
#include "pagecast/abi.h"
#include <array>
#include <cstring>
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <cpuid.h>

extern "C" {
extern char pagecast_has_ymm;

// Of all registers: VCMPTRUEPS makes every bit 1.
#define TIMES16(one)                                                                                                   \
  one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) one(12) one(13) one(14) one(15)
#define SPOIL_XMM(n) "pcmpeqd %xmm" #n ", %xmm" #n "\n"
#define SPOIL_YMM(n) "vcmptrueps %ymm" #n ", %ymm" #n ", %ymm" #n "\n"
__asm__(".text\nspoil:\n cmpb $0, pagecast_has_ymm(%rip)\n je 1f\n" TIMES16(SPOIL_YMM) " ret\n1:\n" TIMES16(SPOIL_XMM) " ret\n");
void spoil();

pagecast_opened pagecast_do_enter(const pagecast_nest *, const uint64_t *, const void *) {
  spoil();
  return {1, nullptr};
}
void pagecast_do_tick(pagecast_ticket *) { spoil(); }
void pagecast_do_exit(pagecast_ticket *) { spoil(); }
uint64_t pagecast_do_next(pagecast_ticket *, uint64_t, uint64_t bound) {
  spoil();
  return bound;
}

// entry(ticket) with these registers before it, and what they are afterwards. The second says besides which parts of
// the processor's state are in use (XINUSE).
using Ymm = std::array<std::array<uint64_t, 4>, 16>;
using Xmm = std::array<std::array<uint64_t, 2>, 16>;
void through_ymm(const void *entry, pagecast_ticket *, const Ymm *before, Ymm *after);
uint64_t through_xmm(const void *entry, pagecast_ticket *, const Xmm *before, Xmm *after);
#define GIVE_YMM(n) "vmovups 32*" #n "(%rdx), %ymm" #n "\n"
#define TAKE_YMM(n) "vmovups %ymm" #n ", 32*" #n "(%rbx)\n"
#define GIVE_XMM(n) "movups 16*" #n "(%rdx), %xmm" #n "\n"
#define TAKE_XMM(n) "movups %xmm" #n ", 16*" #n "(%rbx)\n"
#define CALL " push %rbx\n mov %rcx, %rbx\n mov %rdi, %rax\n mov %rsi, %rdi\n"
__asm__(".text\nthrough_ymm:\n" CALL TIMES16(GIVE_YMM) " xor %edx, %edx\n call *%rax\n" TIMES16(TAKE_YMM)
        " vzeroupper\n pop %rbx\n ret\n"
        "through_xmm:\n" CALL " vzeroupper\n" TIMES16(GIVE_XMM) " xor %edx, %edx\n call *%rax\n" TIMES16(TAKE_XMM)
        " mov $1, %ecx\n xgetbv\n shl $32, %rdx\n or %rdx, %rax\n vzeroupper\n pop %rbx\n ret\n");
}

namespace {

constexpr uint64_t kUpperInUse = 1 << 2; ///< of XINUSE: the upper half of a %ymm register

bool tells_use() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && (a & 4);
}

struct Entry {
  const char *name;
  const void *address;
};
const Entry kEntries[] = {{"enter", reinterpret_cast<const void *>(__pagecast_enter)},
                          {"next", reinterpret_cast<const void *>(__pagecast_next)},
                          {"tick", reinterpret_cast<const void *>(__pagecast_tick)},
                          {"exit", reinterpret_cast<const void *>(__pagecast_exit)}};

template <class Registers> Registers numbered() {
  Registers all;
  uint64_t value = 0x1111;
  for (auto &one : all)
    for (uint64_t &word : one)
      word = value += 0x9e3779b97f4a7c15;
  return all;
}

TEST(NestEntry, KeepsVectors) {
  if (!pagecast_has_ymm)
    GTEST_SKIP() << "the processor has no %ymm registers";
  for (const Entry &e : kEntries) {
    pagecast_ticket ticket = {0, 1, 1};
    Ymm before = numbered<Ymm>(), after = {};
    through_ymm(e.address, &ticket, &before, &after);
    EXPECT_EQ(before, after) << e.name;
    before = {};
    before[11][3] = 1; // one bit of one upper half
    through_ymm(e.address, &ticket, &before, &after);
    EXPECT_EQ(before, after) << e.name;
  }
}

// With an upper half in use, SSE instructions take several times as long on some processors.
TEST(NestEntry, UpperHalvesThatWereNotInUseAreNotAfterwards) {
  if (!pagecast_has_ymm || !tells_use())
    GTEST_SKIP() << "the processor does not tell which registers are in use";
  const Xmm before = numbered<Xmm>();
  Xmm after = {};
  pagecast_ticket none = {0, 9, 1}; // a tick that nobody waits for touches no register
  if (through_xmm(kEntries[2].address, &none, &before, &after) & kUpperInUse)
    GTEST_SKIP() << "the processor always says that the upper halves are in use";
  for (const Entry &e : kEntries) {
    pagecast_ticket ticket = {0, 1, 1};
    after = {};
    EXPECT_FALSE(through_xmm(e.address, &ticket, &before, &after) & kUpperInUse) << e.name;
    EXPECT_EQ(before, after) << e.name;
  }
}

} // namespace
#endif
