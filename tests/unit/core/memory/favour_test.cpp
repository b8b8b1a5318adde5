// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of a program under virtual time, which share a memory: with one of them favoured where that pays, and without.
#include "core/memory/favour.h"
#include "core/memory/replacement.h"
#include "core/memory/which_end.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kPages = 4096, kLot = 32; ///< that memory holds, and that go at a time
constexpr uint64_t kUseNs = 1000, kFaultNs = 5000, kReadNs = 100000; ///< the middle one is processor time, too

/// The page of a thread's use.
using Trace = std::function<uint32_t(unsigned thread, uint64_t use, std::mt19937 &)>;

class Program {
public:
  Program(uint32_t data, bool favours) : links_(data), page_(data), favours_(favours) { order_.attach(links_.data(), data); }
  /// Threads of so many uses each; all go on until the last has ended. Returns the pages read.
  uint64_t run(unsigned threads, uint64_t uses, const Trace &page) {
    thread_.assign(threads, {});
    std::mt19937 random(7);
    for (;;) {
      const auto next =
          std::min_element(thread_.begin(), thread_.end(), [](const Thread &a, const Thread &b) { return a.now_ns < b.now_ns; });
      if (next->uses == uses) break; // then all have: who has ended comes last
      const auto number = static_cast<unsigned>(next - thread_.begin());
      use(number, page(number, next->uses, random));
      if (++next->uses == uses) end_ns_ = std::max(end_ns_, next->now_ns), next->now_ns = ~uint64_t{0};
    }
    EXPECT_TRUE(order_.is_valid());
    return reads_;
  }
  const Favour &favour() const { return favour_; }
  uint64_t end_ns() const { return end_ns_; }

private:
  struct Thread {
    uint64_t now_ns = 0, cpu_ns = 1, uses = 0;
  };
  struct Page {
    bool there = false;
    Favour::Owner owner = Favour::kNobody;
    uint64_t went = 0;
  };

  void use(unsigned number, uint32_t slot) {
    Thread &t = thread_[number];
    t.now_ns += kUseNs, t.cpu_ns += kUseNs;
    Page &p = page_[slot];
    if (p.there) return;
    t.now_ns += kFaultNs + kReadNs, t.cpu_ns += kFaultNs;
    ++reads_;
    const Favour::Owner owner = favour_.owner_of(100 + number);
    favour_.waited(owner, p.went && gone_ - p.went < kPages);
    end_.wanted(slot, WhichEnd::kProgram);
    if (held_ == kPages) make_room();
    p = {true, owner, 0};
    favour_.came(owner);
    end_.came(order_, slot, kPages, favour_.is_favoured(owner) ? WhichEnd::kStream : WhichEnd::kProgram);
    ++held_;
  }
  void make_room() {
    for (uint32_t n = 0; n < kPages && favour_.is_favoured(page_[order_.victim()].owner); ++n) order_.touch(order_.victim());
    uint32_t out[kLot];
    const uint32_t n = end_.pop(order_, out, kLot, kPages);
    for (uint32_t i = 0; i < n; ++i) {
      if (favour_.is_favoured(page_[out[i]].owner) && i + 1 < n) order_.touch(out[i]);
      else page_[out[i]] = {false, Favour::kNobody, ++gone_}, --held_;
    }
    if (!favour_.went(n, kPages) || !favours_) return;
    uint64_t cpu_ns[Favour::kMost] = {};
    for (unsigned o = 1; o <= Favour::kMost; ++o)
      if (favour_.thread(static_cast<Favour::Owner>(o)))
        cpu_ns[o - 1] = thread_[favour_.thread(static_cast<Favour::Owner>(o)) - 100].cpu_ns;
    favour_.look(cpu_ns, kPages);
  }

  std::vector<Replacement::Link> links_;
  std::vector<Page> page_;
  std::vector<Thread> thread_;
  Replacement order_;
  WhichEnd end_;
  Favour favour_;
  bool favours_;
  uint32_t held_ = 0;
  uint64_t gone_ = 0, reads_ = 0, end_ns_ = 0;
};

struct Both {
  uint64_t reads, alike; ///< with and without a favoured thread
  uint64_t turns, paid;
};

Both run(uint32_t data, unsigned threads, uint64_t uses, const Trace &page) {
  Program favours(data, true), alike(data, false);
  const uint64_t reads = favours.run(threads, uses, page);
  return {reads, alike.run(threads, uses, page), favours.favour().turns(), favours.favour().paid()};
}

TEST(Favour, ThreadsThatGoRoundDataOfTheirOwnHaveTheirTurns) {
  for (const double times : {1.02, 1.1, 1.3, 2.0}) { // what they use together, in memories
    const auto own = static_cast<uint32_t>(times * kPages / 4);
    const Both b =
        run(4 * own, 4, 200ull * own, [&](unsigned t, uint64_t i, std::mt19937 &) { return t * own + uint32_t(i % own); });
    EXPECT_LT(b.reads, 10ull * 4 * own) << times; // of 200 rounds
    EXPECT_GT(b.alike, 2 * b.reads) << times;
    EXPECT_GE(b.paid, 1u) << times;
  }
}

TEST(Favour, PagesAtRandomThatAllThreadsUseFareAlike) {
  const uint32_t data = kPages * 3 / 2;
  std::uniform_int_distribution<uint32_t> any(0, data - 1);
  const Both b = run(data, 4, 40ull * kPages, [&](unsigned, uint64_t, std::mt19937 &r) { return any(r); });
  EXPECT_LT(double(b.reads), 1.03 * double(b.alike));
}

TEST(Favour, WhoNeedsMoreThanMemoryIsNotFavouredForLong) {
  const uint32_t own = 2 * kPages;
  const Both b =
      run(4 * own, 4, 40ull * own, [&](unsigned t, uint64_t i, std::mt19937 &) { return t * own + uint32_t(i % own); });
  EXPECT_LT(double(b.reads), 1.03 * double(b.alike));
}

TEST(Favour, ThreadsThatPassByTheirDataOnceHaveNoTurns) {
  const uint32_t own = 64 * kPages;
  const Both b = run(4 * own, 4, own, [&](unsigned t, uint64_t i, std::mt19937 &) { return t * own + uint32_t(i); });
  EXPECT_EQ(b.turns, 0u);
}

TEST(Favour, OneThreadAloneIsNotFavoured) {
  const uint32_t data = kPages * 11 / 10;
  const Both b = run(data, 1, 20ull * data, [&](unsigned, uint64_t i, std::mt19937 &) { return uint32_t(i % data); });
  EXPECT_EQ(b.turns, 0u);
  EXPECT_EQ(b.reads, b.alike);
}

TEST(Favour, ManyThreadsDoNotTakeEachOthersPlaces) {
  Favour favour;
  for (uint64_t round = 0; round < 100; ++round)
    for (uint64_t thread = 1; thread <= 2 * Favour::kMost; ++thread)
      EXPECT_EQ(favour.owner_of(thread), thread <= Favour::kMost ? thread : 0u);
  for (unsigned i = 0; i < Favour::kUnseen; ++i) favour.owner_of(1);
  EXPECT_NE(favour.owner_of(100), Favour::kNobody);
}

} // namespace
} // namespace pagecast::core::test
