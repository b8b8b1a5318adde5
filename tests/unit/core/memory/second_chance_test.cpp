// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/second_chance.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kMemory = 4000; ///< pages
constexpr SecondChance::Costs kCosts{90'000, 22'000, 2'000};

/// Memory whose pages go in the order in which they came, with pages that wait, or without. `ratio`: of those that wait, the pages
/// that one page of memory holds.
class Memory {
public:
  Memory(uint32_t pages, bool chances, double ratio = 1) : chances_(chances), ratio_(ratio), page_(pages) {}
  void touch(uint32_t slot) {
    Page &p = page_[slot];
    if (p.state == kThere) return;
    if (p.state == kWaits) {
      while (page_[shelf_.front().slot].came != shelf_.front().came) shelf_.pop_front(); // came back before
      const uint64_t most = came_ - shelf_.front().came;
      chance_.waited(p.again, true, most ? double(came_ - p.came) / double(most) : 1);
      p.came = 0;
      --waiting_;
      ++came_back;
      p.again = true;
    } else {
      if (p.went) chance_.missed(p.again, gone_ - p.went, kMemory);
      ++reads;
      p.again = false;
    }
    p.state = kThere;
    order_.push_back(slot);
    ++there_;
    while (there_ + waiting_ / ratio_ > kMemory) make_room();
    Costs costs = kCosts;
    costs.ratio = ratio_;
    chance_.judge(reads, kMemory, costs);
  }
  /// A page that there was not before.
  void grow(uint32_t slot) {
    touch(slot);
    --reads;
  }
  bool pays() const { return chance_.pays(); }
  uint32_t switched_off() const { return chance_.switched_off(); }
  double share() const { return chance_.share(); }
  /// What all this took, ns.
  double cost_ns() const {
    return double(reads) * double(kCosts.read_ns) + double(came_back) * double(kCosts.fault_ns) +
           (chances_ ? double(entered_) * double(kCosts.wait_ns) : 0);
  }
  uint32_t reads = 0, waited = 0, came_back = 0; ///< pages; what is touched for the first time is read, too, unless grow() does

private:
  using Costs = SecondChance::Costs;
  enum State : uint8_t { kGone, kThere, kWaits };
  struct Page {
    State state = kGone;
    bool again = false;
    uint64_t went = 0, came = 0; ///< 0: it does not wait
  };
  struct Waiting {
    uint32_t slot;
    uint64_t came;
  };
  void make_room() {
    const double most = chances_ && chance_.pays() ? kMemory * chance_.share() * ratio_ : 0;
    while (waiting_ < most + 1 && there_ + waiting_ / ratio_ > kMemory) {
      Page &p = page_[order_.front()];
      p.state = kWaits;
      p.came = ++came_;
      shelf_.push_back({order_.front(), came_});
      order_.pop_front();
      --there_, ++waiting_, ++entered_;
    }
    if (there_ + waiting_ / ratio_ <= kMemory && waiting_ < most + 1) return;
    while (page_[shelf_.front().slot].came != shelf_.front().came) shelf_.pop_front(); // came back
    Page &p = page_[shelf_.front().slot];
    shelf_.pop_front();
    if (chances_ && chance_.pays()) chance_.waited(p.again, false), p.again = true, ++waited;
    p.state = kGone;
    p.came = 0;
    p.went = ++gone_;
    --waiting_;
  }

  bool chances_;
  double ratio_;
  SecondChance chance_;
  std::vector<Page> page_;
  std::deque<uint32_t> order_;
  std::deque<Waiting> shelf_;
  uint32_t there_ = 0, waiting_ = 0;
  uint64_t gone_ = 0, came_ = 0, entered_ = 0;
};

/// Touches of a third of the pages in use all the time, among others of all pages.
void use_some_more(Memory &memory, uint32_t pages, unsigned touches) {
  std::mt19937 random(1);
  for (unsigned i = 0; i < touches; ++i) memory.touch(static_cast<uint32_t>(random() % (i % 8 ? pages / 6 : pages)));
}

void at_random(Memory &memory, uint32_t pages, unsigned touches) {
  std::mt19937 random(1);
  for (unsigned i = 0; i < touches; ++i) memory.touch(static_cast<uint32_t>(random() % pages));
}

/// Touches of as many pages as memory holds, of the first ones most; one in `seldom` is of `others` behind them.
void use_the_first_most(Memory &memory, unsigned touches, unsigned seldom, uint32_t others) {
  std::mt19937 random(1);
  for (unsigned i = 0; i < touches; ++i) {
    const double part = double(random() % 10'000) / 10'000;
    memory.touch(i % seldom ? static_cast<uint32_t>(part * part * part * kMemory) : kMemory + random() % others);
  }
}

} // namespace

TEST(SecondChance, KeepsWhatIsUsedMore) {
  Memory with(3 * kMemory, true), without(3 * kMemory, false);
  use_some_more(with, 3 * kMemory, 400'000);
  use_some_more(without, 3 * kMemory, 400'000);
  EXPECT_TRUE(with.pays());
  EXPECT_LT(with.reads, without.reads * 7 / 8);
  EXPECT_GT(with.came_back, 1000u);
}

TEST(SecondChance, EndsWhereAllIsUsedAlike) {
  Memory with(2 * kMemory, true), without(2 * kMemory, false);
  at_random(with, 2 * kMemory, 400'000);
  at_random(without, 2 * kMemory, 400'000);
  EXPECT_LT(with.came_back, with.reads / 25);
  EXPECT_LT(with.reads, without.reads * 51 / 50);
}

/// Most pages that wait are touched, so that few go while many have come to wait.
TEST(SecondChance, KeepsWhatIsUsedWhereNearlyAllOfItFits) {
  Memory with(7 * kMemory, true), without(7 * kMemory, false);
  for (Memory *memory : {&with, &without}) use_the_first_most(*memory, 1'000'000, 128, 6 * kMemory);
  EXPECT_TRUE(with.pays());
  EXPECT_LT(with.reads, without.reads * 3 / 4);
}

TEST(SecondChance, EndsWhereNearlyAllFitsAndIsUsedAlike) {
  Memory with(kMemory * 21 / 20, true), without(kMemory * 21 / 20, false);
  at_random(with, kMemory * 21 / 20, 4'000'000);
  at_random(without, kMemory * 21 / 20, 4'000'000);
  EXPECT_FALSE(with.pays());
  EXPECT_LT(with.came_back, with.reads / 8);
  EXPECT_LT(with.reads, without.reads * 51 / 50);
}

TEST(SecondChance, IsSeldomTriedWhereNothingIsUsedAgain) {
  Memory memory(1u << 20, true);
  for (uint32_t i = 0; i < 1u << 20; ++i) memory.touch(i);
  EXPECT_LT(memory.waited, memory.reads / 4);
}

TEST(SecondChance, EndsWhereAFaultCostsAsMuchAsARead) {
  SecondChance chance;
  for (unsigned i = 0; i < 1000; ++i) chance.waited(i % 2, i % 2);
  chance.judge(1000, 1000, {20'000, 20'000, 1'000});
  EXPECT_FALSE(chance.pays());
  EXPECT_EQ(chance.switched_off(), 1u);
}

TEST(SecondChance, EndsInALargeMemory) {
  SecondChance chance;
  for (unsigned i = 0; i < 20'000; ++i) chance.waited(false, false);
  chance.judge(0, 100'000, kCosts);
  EXPECT_FALSE(chance.pays()) << "what is counted is halved before so many have waited";
}

TEST(SecondChance, IsTriedAgainLaterAndLater) {
  SecondChance chance;
  uint64_t reads = 0, before = 0;
  for (unsigned round = 0; round < 4; ++round) {
    for (unsigned i = 0; i < 1000; ++i) chance.waited(false, false);
    chance.judge(reads, 1000, kCosts);
    ASSERT_FALSE(chance.pays());
    const uint64_t began = reads;
    while (!chance.pays()) chance.judge(++reads, 1000, kCosts);
    EXPECT_GE(reads - began, 2 * before - std::min<uint64_t>(before, 1));
    before = reads - began;
  }
}

TEST(SecondChance, RestsWhileNothingIsReadAndIsTriedAgainSoonThen) {
  SecondChance chance;
  for (unsigned i = 0; i < 1000; ++i) chance.waited(false, false);
  chance.judge(0, 1000, kCosts);
  ASSERT_FALSE(chance.pays());
  for (unsigned i = 0; i < 100'000; ++i) chance.judge(0, 1000, kCosts);
  EXPECT_FALSE(chance.pays());
  uint64_t reads = 0;
  while (!chance.pays()) chance.judge(++reads, 1000, kCosts);
  EXPECT_LE(reads, 1000u) << "what was lost is little";
}

/// A program that grows at first, and then uses some of what it has more than the rest.
TEST(SecondChance, IsTriedAgainSoonWhereAProgramHasGrown) {
  const auto use = [](Memory &memory) {
    for (uint32_t i = 0; i < 5 * kMemory; ++i) memory.grow(i);
    use_the_first_most(memory, 300'000, 64, 4 * kMemory);
  };
  Memory with(5 * kMemory, true), without(5 * kMemory, false);
  use(with), use(without);
  EXPECT_TRUE(with.pays());
  EXPECT_LT(with.reads, without.reads * 7 / 8) << "always tried it is 25,055 of 29,888";
}

/// Use that foretells use, and use that does not, by turns.
TEST(SecondChance, FollowsThePhasesOfAProgram) {
  const auto use = [](Memory &memory, uint32_t *reads) {
    for (unsigned phase = 0; phase < 6; ++phase) {
      const uint32_t before = memory.reads;
      if (phase % 2 == 0) at_random(memory, 2 * kMemory, 150'000);
      else use_some_more(memory, 3 * kMemory, 400'000);
      reads[phase % 2] += memory.reads - before;
    }
  };
  uint32_t with[2] = {}, without[2] = {};
  Memory a(3 * kMemory, true), b(3 * kMemory, false);
  use(a, with), use(b, without);
  EXPECT_LT(with[0], without[0] * 51 / 50);
  EXPECT_LT(with[1], without[1] * 9 / 10);
}

/// Where all pages are used alike nothing is saved but what compression gives room for.
TEST(SecondChance, GrowsWhereCompressedPagesLetAllFit) {
  Memory with(kMemory * 5 / 4, true, 2.5), without(kMemory * 5 / 4, false);
  for (Memory *memory : {&with, &without}) at_random(*memory, kMemory * 5 / 4, 2'000'000);
  EXPECT_TRUE(with.pays());
  EXPECT_GT(with.share(), 0.15);
  EXPECT_LT(with.reads, without.reads / 8);
  EXPECT_LT(with.cost_ns(), without.cost_ns() * 0.75);
}

TEST(SecondChance, GrowsToItsMostWhereCompressedPagesLetMoreFit) {
  Memory with(kMemory * 2, true, 3), without(kMemory * 2, false);
  for (Memory *memory : {&with, &without}) at_random(*memory, kMemory * 2, 2'000'000);
  EXPECT_TRUE(with.pays());
  EXPECT_DOUBLE_EQ(with.share(), 1.0 / SecondChance::kMostShare);
  EXPECT_LT(with.reads, without.reads / 2);
  EXPECT_LT(with.cost_ns(), without.cost_ns() * 0.75);
}

TEST(SecondChance, CostsLittleWhereCompressedPagesAreFewOfThoseInUse) {
  Memory with(kMemory * 12, true, 2), without(kMemory * 12, false);
  for (Memory *memory : {&with, &without}) at_random(*memory, kMemory * 12, 2'000'000);
  EXPECT_GE(with.switched_off(), 1u);
  EXPECT_LT(with.reads, without.reads * 51 / 50);
  EXPECT_LT(with.cost_ns(), without.cost_ns() * 1.02);
}

/// One page in eight is used once more, soon after it has come to wait.
TEST(SecondChance, EndsWhereWhatComesBackWouldHaveBeenThere) {
  Memory with(40 * kMemory, true, 3), without(40 * kMemory, false);
  for (Memory *memory : {&with, &without})
    for (uint32_t i = kMemory; i < 40 * kMemory; ++i) {
      memory->touch(i);
      if (i % 8 == 0) memory->touch(i - kMemory * 43 / 50);
    }
  EXPECT_GE(with.switched_off(), 1u);
  EXPECT_LT(with.came_back, with.reads / 16) << "always tried it is an eighth";
  EXPECT_LT(with.reads, without.reads * 51 / 50);
  EXPECT_LT(with.cost_ns(), without.cost_ns() * 1.05);
}

/// No page comes back unless all of them fit: that is known by how long ago pages went that are read.
TEST(SecondChance, GrowsUntilARoundFits) {
  Memory with(kMemory * 6 / 5, true, 3), without(kMemory * 6 / 5, false);
  for (Memory *memory : {&with, &without})
    for (uint32_t i = 0; i < 40 * kMemory * 6 / 5; ++i) memory->touch(i % (kMemory * 6 / 5));
  EXPECT_TRUE(with.pays());
  EXPECT_LT(with.reads, without.reads / 2);
  EXPECT_LT(with.cost_ns(), without.cost_ns() * 0.75);
}

/// What is in use fits without those that wait: each page of memory that they take is one that is in use.
TEST(SecondChance, StaysSmallWhereWhatIsInUseFits) {
  Memory with(3 * kMemory, true, 2.5), without(3 * kMemory, false);
  for (Memory *memory : {&with, &without}) {
    std::mt19937 random(1);
    for (uint32_t i = 0, others = 0; i < 3'000'000; ++i)
      memory->touch(i % 32 ? random() % (kMemory * 3 / 4) : kMemory + others++ % (2 * kMemory));
  }
  EXPECT_LT(with.share(), 0.15);
  EXPECT_LT(with.reads, without.reads * 51 / 50);
  EXPECT_LT(with.cost_ns(), without.cost_ns() * 1.05);
}

} // namespace pagecast::core::test
