// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces of pages without forecasts, against a memory whose oldest pages always go.
#include "core/memory/which_end.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kPages = 8192, kLot = 32; ///< that memory holds, and that go at a time

/// A memory that reads a page when it is used and is not there.
class Memory {
public:
  Memory(uint32_t data, bool chooses) : links_(data), there_(data), chooses_(chooses) { order_.attach(links_.data(), data); }
  void use(uint32_t page) {
    if (there_[page]) return;
    ++misses_;
    bring(page, WhichEnd::kProgram);
  }
  /// Before it is used; by a nest or a stream.
  void foresee(uint32_t page, WhichEnd::Asker asker) {
    if (there_[page]) order_.touch(page);
    else ++foreseen_, bring(page, asker);
  }
  uint64_t take_foreseen() { return std::exchange(foreseen_, 0); }
  uint64_t take_misses() { return std::exchange(misses_, 0); }
  const WhichEnd &end() const { return end_; }
  bool is_valid() const { return order_.is_valid(); }

private:
  void bring(uint32_t page, WhichEnd::Asker asker) {
    if (chooses_) end_.wanted(page, asker);
    if (held_ == kPages) make_room();
    if (!chooses_) order_.insert_active(page);
    else end_.came(order_, page, kPages, asker);
    there_[page] = true;
    ++held_;
  }
  void make_room() {
    uint32_t gone[kLot];
    const uint32_t n = chooses_ ? end_.pop(order_, gone, kLot, kPages) : order_.pop_victims(gone, kLot);
    for (uint32_t i = 0; i < n; ++i) there_[gone[i]] = false;
    held_ -= n;
  }
  std::vector<Replacement::Link> links_;
  std::vector<bool> there_;
  Replacement order_;
  WhichEnd end_;
  bool chooses_;
  uint32_t held_ = 0;
  uint64_t misses_ = 0, foreseen_ = 0;
};

using Trace = std::function<uint32_t(uint64_t i, std::mt19937 &)>;

struct Misses {
  uint64_t chosen, oldest;
  uint32_t changes;
};

/// Of `uses` of pages below `data`, after as many that are not counted.
Misses run(uint32_t data, uint64_t uses, const Trace &page) {
  Memory chosen(data, true), oldest(data, false);
  std::mt19937 random(7);
  for (uint64_t i = 0; i < 2 * uses; ++i) {
    if (i == uses) chosen.take_misses(), oldest.take_misses();
    const uint32_t p = page(i, random);
    chosen.use(p), oldest.use(p);
  }
  EXPECT_TRUE(chosen.is_valid());
  const Misses m{chosen.take_misses(), oldest.take_misses(), chosen.end().changes()};
  return m;
}

Trace cycle(uint32_t data) {
  return [data](uint64_t i, std::mt19937 &) { return uint32_t(i % data); };
}

TEST(WhichEnd, OfACycleAllStaysButWhatDoesNotFit) {
  for (const double times : {1.02, 1.1, 1.5, 2.0, 3.0}) {
    const auto data = uint32_t(times * kPages);
    const uint64_t uses = 10ull * data;
    const Misses m = run(data, uses, cycle(data));
    const double best = 1 - 1 / times;
    EXPECT_EQ(m.oldest, uses) << times;
    EXPECT_LT(double(m.chosen), (best + 0.045) * double(uses)) << times;
  }
}

TEST(WhichEnd, PagesAtRandomFareAlike) {
  for (const double times : {1.1, 2.0}) {
    const auto data = uint32_t(times * kPages);
    std::uniform_int_distribution<uint32_t> any(0, data - 1);
    const Misses m = run(data, 20ull * data, [&](uint64_t, std::mt19937 &r) { return any(r); });
    EXPECT_LT(double(m.chosen), 1.03 * double(m.oldest)) << times;
  }
}

TEST(WhichEnd, OfUnequalPagesThoseThatAreUsedOftenAreNotLost) {
  const uint32_t data = 4 * kPages;
  std::vector<double> sum(data);
  for (uint32_t i = 0; i < data; ++i) sum[i] = (i ? sum[i - 1] : 0) + 1 / double(i + 1);
  std::uniform_real_distribution<double> any(0, sum.back());
  const Misses m = run(data, 20ull * data, [&](uint64_t, std::mt19937 &r) {
    const auto rank = uint32_t(std::upper_bound(sum.begin(), sum.end(), any(r)) - sum.begin());
    return std::min(rank, data - 1) * 7919 % data;
  });
  EXPECT_LT(double(m.chosen), 1.03 * double(m.oldest));
}

TEST(WhichEnd, WhatWasUsedLatelyStays) { // a window of three quarters of memory, which moves on
  const uint32_t data = 8 * kPages, window = kPages * 3 / 4;
  std::uniform_int_distribution<uint32_t> any(0, window - 1);
  const Misses m = run(data, 20ull * data, [&](uint64_t i, std::mt19937 &r) { return uint32_t((i / 8 + any(r)) % data); });
  EXPECT_LT(double(m.chosen), 1.04 * double(m.oldest));
}

TEST(WhichEnd, OfAStackWhatLiesOnTopStays) { // distances in the stack fall off evenly in their logarithm
  const uint32_t data = 4 * kPages;
  std::vector<uint32_t> stack(data);
  for (uint32_t i = 0; i < data; ++i) stack[i] = i;
  std::uniform_real_distribution<double> any(0, std::log(double(data)));
  const Misses m = run(data, data, [&](uint64_t, std::mt19937 &r) {
    const auto depth = std::min(uint32_t(std::exp(any(r))), data - 1);
    std::rotate(stack.begin(), stack.begin() + depth, stack.begin() + depth + 1);
    return stack[0];
  });
  EXPECT_LT(double(m.chosen), 1.03 * double(m.oldest));
}

TEST(WhichEnd, DataInUseAreNotLostWhileOthersPassBy) {
  const uint32_t hot = kPages * 3 / 4, data = 8 * kPages;
  std::uniform_int_distribution<uint32_t> any(0, hot - 1);
  const Misses m =
      run(data, 20ull * data, [&](uint64_t i, std::mt19937 &r) { return i % 4 ? any(r) : hot + uint32_t(i / 4 % (data - hot)); });
  EXPECT_LT(double(m.chosen), 1.03 * double(m.oldest));
}

TEST(WhichEnd, WhatWasKeptGoesWhenItIsNotUsedAnyMore) { // a cycle, then data that fit, but are elsewhere, and so on
  const uint32_t data = kPages * 11 / 10, uses = 20 * data;
  const Misses m = run(2 * data, 6 * uses, [&](uint64_t i, std::mt19937 &) {
    return i / uses % 2 ? uint32_t(i % data) : data + uint32_t(i % (data / 2));
  });
  EXPECT_LT(double(m.chosen), 0.5 * double(m.oldest));
}

TEST(WhichEnd, PagesOfStreamsMakeNewcomersOld) {
  const uint32_t few = 100;
  Memory memory(4 * kPages, true);
  for (uint32_t p = 0; p < few; ++p) memory.use(p);
  for (uint32_t p = few; p < 3 * kPages; ++p) memory.foresee(p, WhichEnd::kStream);
  memory.take_misses();
  for (uint32_t p = 0; p < few; ++p) memory.use(p);
  EXPECT_EQ(memory.take_misses(), few) << "some have stayed among the others' pages, in use by nobody";
  EXPECT_TRUE(memory.is_valid());
}

TEST(WhichEnd, ACycleOfAStreamDecidesNothing) { // with a page in eight at random, of which as many fit
  const uint32_t data = 2 * kPages;
  Memory memory(2 * data, true);
  std::mt19937 random(7);
  std::uniform_int_distribution<uint32_t> any(data, 2 * data - 1);
  for (uint32_t i = 0; i < 20 * data; ++i) {
    memory.foresee(i % data, WhichEnd::kStream);
    if (i % 8 == 0) memory.use(any(random));
  }
  EXPECT_EQ(memory.end().changes(), 0u);
}

/// Rounds over 1.1 times memory, all of which a nest's hints foresee, `ahead` pages before they are used; what is read in the last one,
/// and what was waited for in it.
struct Round {
  uint64_t read, waited_for;
};
Round last_round_foreseen(uint32_t ahead) {
  const uint32_t data = kPages * 11 / 10;
  Memory memory(data, true);
  for (uint32_t i = 0; i < 10 * data; ++i) {
    if (i == 9 * data) memory.take_foreseen(), memory.take_misses();
    memory.foresee((i + ahead) % data, WhichEnd::kNest);
    memory.use(i % data);
  }
  return {memory.take_foreseen(), memory.take_misses()};
}

TEST(WhichEnd, OfACycleThatANestForeseesAllStaysButWhatDoesNotFit) {
  for (const uint32_t ahead : {1, 32, 100}) {
    const Round r = last_round_foreseen(ahead);
    EXPECT_LT(r.read, kPages / 5) << ahead;
    EXPECT_LT(r.waited_for, kPages / 100) << ahead;
  }
}

TEST(WhichEnd, WhatANestForeseesFarAheadIsNotLostBeforeItIsUsed) {
  EXPECT_LT(last_round_foreseen(kPages / 8).waited_for, kPages / 20);
}

} // namespace
} // namespace pagecast::core::test
