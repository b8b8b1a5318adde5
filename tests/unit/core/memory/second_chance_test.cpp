// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/second_chance.h"

#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kMemory = 4000; ///< pages
constexpr SecondChance::Costs kCosts{90'000, 22'000, 2'000};

/// Memory whose pages go in the order in which they came, with pages that wait, or without.
class Memory {
public:
  Memory(uint32_t pages, bool chances, bool spares = true) : chances_(chances), spares_(spares), page_(pages) {}
  void touch(uint32_t slot) {
    Page &p = page_[slot];
    if (p.state == kThere) return;
    if (p.state == kWaits) {
      chance_.waited(p.again, true);
      --waiting_;
      ++came_back;
      p.again = true;
    } else {
      if (p.again) chance_.missed(gone_ - p.went, kMemory);
      ++reads;
      p.again = false;
    }
    p.state = kThere;
    order_.push_back(slot);
    ++there_;
    while (there_ + waiting_ > kMemory) make_room();
    chance_.judge(gone_, kMemory, kCosts);
  }
  bool pays() const { return chance_.pays(); }
  uint32_t reads = 0, came_back = 0;

private:
  enum State : uint8_t { kGone, kThere, kWaits };
  struct Page {
    State state = kGone;
    bool again = false;
    uint64_t went = 0;
  };
  void make_room() {
    const uint32_t most = chances_ && chance_.pays() ? kMemory / SecondChance::kShare : 0;
    while (waiting_ < most + 1) {
      if (spares_ && page_[order_.front()].again && chance_.spares()) {
        order_.push_back(order_.front());
        order_.pop_front();
        continue;
      }
      page_[order_.front()].state = kWaits;
      shelf_.push_back(order_.front());
      order_.pop_front();
      --there_, ++waiting_;
    }
    while (page_[shelf_.front()].state != kWaits) shelf_.pop_front(); // came back
    Page &p = page_[shelf_.front()];
    shelf_.pop_front();
    if (chances_ && chance_.pays()) chance_.waited(p.again, false), p.again = true;
    p.state = kGone;
    p.went = ++gone_;
    --waiting_;
  }

  bool chances_, spares_;
  SecondChance chance_;
  std::vector<Page> page_;
  std::deque<uint32_t> order_, shelf_;
  uint32_t there_ = 0, waiting_ = 0;
  uint64_t gone_ = 0;
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
  const auto use = [](Memory &memory) {
    std::mt19937 random(1);
    for (unsigned i = 0; i < 1'000'000; ++i) {
      const double part = double(random() % 10'000) / 10'000;
      memory.touch(i % 128 ? static_cast<uint32_t>(part * part * part * kMemory) : kMemory + random() % (6 * kMemory));
    }
  };
  Memory with(7 * kMemory, true), without(7 * kMemory, false);
  use(with), use(without);
  EXPECT_TRUE(with.pays());
  EXPECT_LT(with.reads, without.reads * 3 / 4);
}

/// Most of memory is in use all the time, beside what streams past.
TEST(SecondChance, SparesMostOfWhatAlwaysComesBack) {
  const auto use = [](Memory &memory, uint32_t from) {
    std::mt19937 random(1);
    for (uint32_t i = 0, past = 2 * kMemory; i < 2'000'000; ++i)
      memory.touch(i % 64 ? from + random() % (kMemory * 7 / 10) : past++ % (8 * kMemory));
  };
  Memory with(8 * kMemory, true), without(8 * kMemory, true, false);
  use(with, 0), use(without, 0);
  EXPECT_LT(with.came_back, without.came_back / 3);
  EXPECT_LT(with.reads, without.reads * 11 / 10);
  const uint32_t before = with.reads, before_without = without.reads; // and other pages are in use now
  use(with, kMemory), use(without, kMemory);
  EXPECT_LT(with.reads - before, (without.reads - before_without) * 11 / 10);
}

TEST(SecondChance, EndsWhereNearlyAllFitsAndIsUsedAlike) {
  Memory with(kMemory * 21 / 20, true), without(kMemory * 21 / 20, false);
  at_random(with, kMemory * 21 / 20, 4'000'000);
  at_random(without, kMemory * 21 / 20, 4'000'000);
  EXPECT_FALSE(with.pays());
  EXPECT_LT(with.came_back, with.reads / 8);
  EXPECT_LT(with.reads, without.reads * 51 / 50);
}

TEST(SecondChance, EndsWhereNothingIsUsedAgain) {
  Memory memory(1u << 20, true);
  for (uint32_t i = 0; i < 1u << 20; ++i) memory.touch(i);
  EXPECT_FALSE(memory.pays());
}

TEST(SecondChance, EndsWhereAFaultCostsAsMuchAsARead) {
  SecondChance chance;
  for (unsigned i = 0; i < 1000; ++i) chance.waited(i % 2, i % 2);
  chance.judge(1000, 1000, {20'000, 20'000, 1'000});
  EXPECT_FALSE(chance.pays());
  EXPECT_EQ(chance.switched_off(), 1u);
}

TEST(SecondChance, IsTriedAgainLaterAndLater) {
  SecondChance chance;
  uint64_t gone = 0, before = 0;
  for (unsigned round = 0; round < 4; ++round) {
    for (unsigned i = 0; i < 1000; ++i, ++gone) chance.waited(false, false);
    chance.judge(gone, 1000, kCosts);
    ASSERT_FALSE(chance.pays());
    const uint64_t began = gone;
    while (!chance.pays()) chance.judge(++gone, 1000, kCosts);
    EXPECT_GE(gone - began, 2 * before);
    before = gone - began;
  }
}

} // namespace pagecast::core::test
