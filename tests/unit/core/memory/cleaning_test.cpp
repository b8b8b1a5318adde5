// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cleaning under virtual time: a pager with pages in a row, a disk that takes its time, and a program that rests,
// computes, or stores.
#include "core/memory/cleaning.h"

#include <gtest/gtest.h>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kMs = 1000000, kSecond = 1000 * kMs;
constexpr uint32_t kPages = 4096, kBatch = 64;
constexpr uint64_t kBatchNs = kMs; ///< the disk's time for one

class World {
public:
  World() : dirty_(kPages, true), clusters_(kPages / Cleaning::kClusterPages) {
    cleaning_.start(clusters_.data());
    cleaning_.disturbed(now);
  }

  /// Time passes; the program takes so many hundredths of a processor.
  void run(uint64_t ns, unsigned percent = 0) {
    for (const uint64_t end = now + ns; now < end; now += kMs / 10) {
      cpu_ += kMs / 10 * percent / 100;
      turn();
    }
  }
  /// The program stores to all pages, and the pager sees those that were protected.
  void store_to_all() {
    for (uint32_t p = 0; p < kPages; ++p) {
      if (!dirty_[p] && cleaning_.is_cleaned(p)) cleaning_.stored(p, now);
      dirty_[p] = true;
    }
    cleaning_.disturbed(now);
  }
  uint32_t clean() const {
    uint32_t n = 0;
    for (const bool d : dirty_) n += !d;
    return n;
  }

  uint64_t now = 1, written = 0;
  uint32_t near = 1024, far = kPages;
  bool in_nest = false;

private:
  void turn() {
    if (cleaning_.writing() && now < done_ns_) return;
    if (cleaning_.writing()) cleaning_.done(now);
    if (now < cleaning_.next_ns()) return;
    const uint32_t want = cleaning_.wanted({now, cpu_, in_nest, near, far, walked_});
    if (!want) return;
    if (cleaning_.begins()) walk_ = walked_ = 0;
    uint32_t n = 0;
    for (; walk_ < kPages && walked_ < want && n < kBatch; ++walk_) {
      if (dirty_[walk_] && !cleaning_.may_clean(walk_, now)) continue;
      if (dirty_[walk_]) ++n, cleaning_.cleaned(walk_, now);
      dirty_[walk_] = false;
      ++walked_;
    }
    written += n;
    done_ns_ = now + kBatchNs;
    if (n) cleaning_.began(now);
    else if (walk_ == kPages) cleaning_.ran_out(now);
  }

  Cleaning cleaning_;
  std::vector<bool> dirty_;
  std::vector<Cleaning::Cluster> clusters_;
  uint64_t cpu_ = 0, done_ns_ = 0;
  uint32_t walk_ = 0, walked_ = 0;
};

TEST(Cleaning, AProgramThatRestsHasWhatIsNearCleanSoonAndTheRestLater) {
  World w;
  w.run(29 * kMs);
  EXPECT_EQ(w.written, 0u) << "it may not be resting at all";
  w.run(50 * kMs);
  EXPECT_GE(w.clean(), w.near);
  EXPECT_LT(w.clean(), 2 * w.near) << "an eighth of the disk's time for the rest";
  w.run(kSecond);
  EXPECT_EQ(w.clean(), kPages);
  w.run(100 * kSecond);
  EXPECT_EQ(w.written, kPages) << "each once";
}

TEST(Cleaning, NothingIsCleanedThatNobodyCouldTake) {
  World w;
  w.near = w.far = 0;
  w.run(10 * kSecond);
  EXPECT_EQ(w.written, 0u);
}

TEST(Cleaning, AProgramThatComputesInMemoryHasOnlyWhatIsNearClean) {
  World w;
  w.run(60 * kMs, 100);
  EXPECT_LT(w.clean(), w.near / 2) << "slowly";
  w.run(10 * kSecond, 100);
  EXPECT_GE(w.clean(), w.near);
  EXPECT_LT(w.clean(), w.near + kBatch);
}

TEST(Cleaning, ANestThatComputesIsLeftAlone) {
  World w;
  w.in_nest = true;
  w.run(10 * kSecond, 100);
  EXPECT_EQ(w.written, 0u);
  w.run(60 * kSecond); // stopped in it
  EXPECT_EQ(w.clean(), kPages);
}

TEST(Cleaning, WhoeverIsSeenAgainAndAgainIsNotResting) {
  World w;
  for (unsigned i = 0; i < 1000; ++i) {
    w.run(10 * kMs);
    w.store_to_all();
  }
  EXPECT_EQ(w.written, 0u);
}

TEST(Cleaning, WhatIsStoredToAllTheTimeIsCleanedMoreAndMoreSeldom) {
  World w;
  w.far = w.near = kPages;
  for (unsigned i = 0; i < 100; ++i) { // every half second
    w.run(kSecond / 2);
    w.store_to_all();
  }
  EXPECT_GE(w.written, kPages);
  EXPECT_LE(w.written, 8 * kPages);
  const uint64_t before = w.written;
  w.run(1000 * kSecond);
  EXPECT_EQ(w.clean(), kPages) << "when it stops, all of it once more";
  EXPECT_EQ(w.written, before + kPages);
}

TEST(Cleaning, WhatStaysCleanForLongIsCleanedAtOnceAgain) {
  World w;
  w.far = w.near = kPages;
  for (unsigned i = 0; i < 6; ++i) {
    w.run(kSecond / 2);
    w.store_to_all();
  }
  for (unsigned i = 0; i < 6; ++i) {
    w.run(100 * kSecond);
    w.store_to_all();
  }
  w.run(kSecond / 2);
  EXPECT_EQ(w.clean(), kPages);
}

} // namespace
} // namespace pagecast::core::test
