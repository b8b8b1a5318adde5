// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that nests call, around bodies that overwrite all vector registers.
#include "runtime/entry/nest_entry.h"
#include <array>
#include <cstring>
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <cpuid.h>

extern "C" {
extern char pagecast_has_ymm;

// Of all registers: VCMPTRUEPS makes every bit 1.
#define TIMES16(one) \
  one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) one(12) one(13) one(14) one(15)
#define SPOIL_XMM(n) "pcmpeqd %xmm" #n ", %xmm" #n "\n"
#define SPOIL_YMM(n) "vcmptrueps %ymm" #n ", %ymm" #n ", %ymm" #n "\n"
__asm__(".text\nspoil:\n cmpb $0, pagecast_has_ymm(%rip)\n je 1f\n" TIMES16(SPOIL_YMM) " ret\n1:\n" TIMES16(SPOIL_XMM) " ret\n");
void spoil();

const pagecast_nest *given; ///< to pagecast_do_enter
pagecast_opened pagecast_do_enter(const pagecast_nest *nest, const uint64_t *, const void *) {
  given = nest;
  spoil();
  return {1, nullptr};
}
const pagecast_nest *entered; ///< by __pagecast_enter
const pagecast_ticket *told; ///< to the bodies below
void pagecast_do_tick(pagecast_ticket *ticket) {
  told = ticket;
  spoil();
}
void pagecast_do_exit(pagecast_ticket *ticket) {
  told = ticket;
  spoil();
}
uint64_t pagecast_do_next(uint64_t, uint64_t bound, pagecast_ticket *ticket) {
  told = ticket;
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
#define CALL " push %rbx\n mov %rcx, %rbx\n mov %rdi, %rax\n mov %rsi, %rdi\n mov entered(%rip), %r10\n"
__asm__(".text\nthrough_ymm:\n" CALL TIMES16(GIVE_YMM) " mov %rdi, %rdx\n xor %edi, %edi\n call *%rax\n" TIMES16(
    TAKE_YMM) " vzeroupper\n pop %rbx\n ret\n"
              "through_xmm:\n" CALL " vzeroupper\n" TIMES16(GIVE_XMM) " mov %rdi, %rdx\n xor %edi, %edi\n call *%rax\n" TIMES16(
                  TAKE_XMM) " mov $1, %ecx\n xgetbv\n shl $32, %rdx\n or %rdx, %rax\n vzeroupper\n pop %rbx\n ret\n");

// __pagecast_enter(entered) with these six words and what is in these registers, and its results, afterwards.
struct General {
  uint64_t rdi, rsi, rdx, rcx, r8, r9, r10;
};
pagecast_opened through_general(const uint64_t *words, General *after);
__asm__(
    ".text\nthrough_general:\n push %rbx\n push %rbp\n push %r12\n mov %rsi, %rbx\n mov %rdi, %r12\n"
    " mov (%r12), %rdi\n mov 8(%r12), %rsi\n mov 16(%r12), %rdx\n mov 24(%r12), %rcx\n mov 32(%r12), %r8\n mov 40(%r12), %r9\n"
    " mov entered(%rip), %r10\n call __pagecast_enter\n"
    " mov %rdi, (%rbx)\n mov %rsi, 8(%rbx)\n mov %rcx, 24(%rbx)\n mov %r8, 32(%rbx)\n mov %r9, 40(%rbx)\n mov %r10, 48(%rbx)\n"
    " pop %r12\n pop %rbp\n pop %rbx\n ret\n");
}

namespace {

/// A nest that is entered, or passed over so many times: its trip count is 3 + 2 * its fifth word.
struct Nest {
  explicit Nest(uint64_t left) : cache(1 | left << PAGECAST_WORD_SITE) {
    description.loops = 1;
    description.dynamic = 6;
    description.word = &trips;
    description.cache = &cache;
    entered = &description;
    given = nullptr;
  }
  Nest(const Nest &) = delete;
  uint64_t left() const { return cache >> PAGECAST_WORD_SITE; }

  pagecast_word trips{3, 2, 4};
  uint64_t cache;
  pagecast_nest description{};
};

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

const bool is_known = (pagecast_look_at_processor(), true); ///< which registers there are

template <class Registers> Registers numbered() {
  Registers all;
  uint64_t value = 0x1111;
  for (auto &one : all)
    for (uint64_t &word : one) word = value += 0x9e3779b97f4a7c15;
  return all;
}

TEST(NestEntry, KeepsVectors) {
  if (!is_known || !pagecast_has_ymm) GTEST_SKIP() << "the processor has no %ymm registers";
  for (const Entry &e : kEntries) {
    Nest nest(0);
    pagecast_ticket ticket = {0, 1, 1};
    Ymm before = numbered<Ymm>(), after = {};
    told = nullptr;
    through_ymm(e.address, &ticket, &before, &after);
    EXPECT_EQ(before, after) << e.name;
    EXPECT_EQ(told, e.address == kEntries[0].address ? nullptr : &ticket) << e.name;
    before = {};
    before[11][3] = 1; // one bit of one upper half
    through_ymm(e.address, &ticket, &before, &after);
    EXPECT_EQ(before, after) << e.name;
  }
}

// With an upper half in use, SSE instructions take several times as long on some processors.
TEST(NestEntry, UpperHalvesThatWereNotInUseAreNotAfterwards) {
  if (!pagecast_has_ymm || !tells_use()) GTEST_SKIP() << "the processor does not tell which registers are in use";
  const Xmm before = numbered<Xmm>();
  Xmm after = {};
  Nest nest(0);
  pagecast_ticket none = {0, 9, 1}; // a tick that nobody waits for touches no register
  if (through_xmm(kEntries[2].address, &none, &before, &after) & kUpperInUse)
    GTEST_SKIP() << "the processor always says that the upper halves are in use";
  for (const Entry &e : kEntries) {
    Nest nest(0);
    pagecast_ticket ticket = {0, 1, 1};
    after = {};
    EXPECT_FALSE(through_xmm(e.address, &ticket, &before, &after) & kUpperInUse) << e.name;
    EXPECT_EQ(before, after) << e.name;
  }
}

TEST(NestEntry, WhatIsPassedOverTouchesNoVectors) {
  if (!pagecast_has_ymm) GTEST_SKIP() << "the processor has no %ymm registers";
  Nest nest(2);
  Ymm before = numbered<Ymm>(), after = {};
  through_ymm(kEntries[0].address, nullptr, &before, &after);
  EXPECT_EQ(before, after);
  EXPECT_EQ(given, nullptr);
  EXPECT_EQ(nest.left(), 1u);
}

void expect_entry(Nest &nest, pagecast_opened expected, bool in) {
  const uint64_t words[6] = {11, 12, 13, 14, 15, 16};
  General after = {};
  given = nullptr;
  const pagecast_opened opened = through_general(words, &after);
  EXPECT_EQ(given, in ? &nest.description : nullptr);
  EXPECT_EQ(opened.count, expected.count);
  EXPECT_EQ(opened.ticket, expected.ticket);
  const uint64_t kept[6] = {after.rdi, after.rsi, 13, after.rcx, after.r8, after.r9};
  EXPECT_EQ(std::memcmp(kept, words, sizeof kept), 0);
  EXPECT_EQ(after.r10, reinterpret_cast<uint64_t>(&nest.description));
}

TEST(NestEntry, PassesOverAsManyAsItIsTold) {
  Nest nest(3);
  for (uint64_t left = 3; left-- > 0;) {
    expect_entry(nest, {3 + 2 * 15, nullptr}, false);
    EXPECT_EQ(nest.left(), left);
  }
  expect_entry(nest, {1, nullptr}, true);
  EXPECT_EQ(nest.cache, 1u);
}

TEST(NestEntry, LeavesToOthersWhatIsNotPlain) {
  Nest nest(3);
  pagecast_open_count = 1; // it may have to be closed
  expect_entry(nest, {1, nullptr}, true);
  pagecast_open_count = 0;
  nest.trips.from = 6; // the prologue's
  expect_entry(nest, {1, nullptr}, true);
  EXPECT_EQ(nest.left(), 3u);
  nest.trips = {7, 0, 99}; // a constant
  expect_entry(nest, {7, nullptr}, false);
}

} // namespace
#endif
