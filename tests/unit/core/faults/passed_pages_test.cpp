// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/passed_pages.h"

#include "core/memory/replacement.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kMemory = 4096, kBlock = 1u << 16, kBlocks = 4; ///< pages
constexpr unsigned kClean = 0;

/// Memory that goes in the order in which it came, but for what streams have passed. Each block is a region.
class Memory {
public:
  explicit Memory(bool releases) : releases_(releases), links_(kBlocks * kBlock) {
    order_.attach(links_.data(), kBlocks * kBlock);
  }
  /// The program comes to a page.
  void use(uint32_t block, uint32_t page) {
    const uint32_t slot = block * kBlock + page;
    if (!order_.is_free(slot)) return;
    ++waits_[block];
    if (notes_.regretted(slot, gone_, kMemory) == kClean) pages_[block].regretted();
    if (used_ == kMemory) {
      uint32_t victim;
      used_ -= order_.pop_victims(&victim, 1);
      ++gone_;
    }
    order_.insert_active(slot);
    ++used_;
  }
  /// A stream has passed it.
  void pass(uint32_t block, uint32_t page) {
    const uint32_t slot = block * kBlock + page;
    if (!releases_ || order_.is_free(slot) || order_.is_released(slot)) return;
    const bool noted = PassedNotes::notes(slot) && pages_[block].samples();
    if (noted) notes_.passed(slot, kClean, gone_), pages_[block].passed();
    if (!noted && !pages_[block].pays()) return;
    order_.release(slot, 0);
    ++released_[block];
  }
  /// The program goes through the block, in order.
  void sweep(uint32_t block, uint32_t pages) {
    for (uint32_t i = 0; i < pages; ++i) {
      use(block, i);
      if (i >= kWindow) pass(block, i - kWindow);
    }
  }
  uint64_t waits(uint32_t block) const { return waits_[block]; }
  uint64_t released(uint32_t block) const { return released_[block]; }
  bool pays(uint32_t block) const { return pages_[block].pays(); }

  static constexpr uint32_t kWindow = 8; ///< the last pages that a stream has come to are not passed

private:
  const bool releases_;
  std::vector<Replacement::Link> links_;
  Replacement order_;
  PassedNotes notes_;
  PassedPages pages_[kBlocks];
  uint64_t waits_[kBlocks] = {}, released_[kBlocks] = {}, gone_ = 0;
  uint32_t used_ = 0;
};

/// A table of a third of memory is filled in order, and used at random while another block is gone through. Waits for the table.
uint64_t group_by(Memory &memory) {
  constexpr uint32_t kTable = kMemory / 3;
  std::mt19937 random(7);
  memory.sweep(0, kTable);
  for (uint32_t i = 0; i < kBlock; ++i) {
    memory.use(1, i);
    if (i >= Memory::kWindow) memory.pass(1, i - Memory::kWindow);
    memory.use(0, static_cast<uint32_t>(random() % kTable));
  }
  return memory.waits(0);
}

} // namespace

TEST(PassedPages, WhatIsNeverRightIsTriedEverMoreSeldom) { // what looks like streams, in data that are used in no order
  Memory memory(true);
  std::mt19937 random(3);
  const auto use = [&](unsigned times) {
    const uint64_t before = memory.released(0);
    for (unsigned i = 0; i < times; ++i) {
      const auto page = static_cast<uint32_t>(random() % (kMemory + kMemory / 8));
      memory.use(0, page);
      memory.pass(0, page);
    }
    return memory.released(0) - before;
  };
  memory.sweep(0, kMemory + kMemory / 8);
  use(200000);
  EXPECT_FALSE(memory.pays(0));
  const uint64_t later = use(200000);
  EXPECT_GT(later, 10u) << "it may become right";
  EXPECT_LT(later, 200000u / PassedNotes::kSample / 16);
}

TEST(PassedPages, WhatIsLookedUpStaysWhileATableIsReadInOrder) {
  Memory before(false), now(true);
  const uint64_t waits_before = group_by(before), waits = group_by(now);
  EXPECT_GT(waits_before, 12000u);
  EXPECT_LT(waits, 3000u);
  EXPECT_EQ(now.waits(1), kBlock);
  EXPECT_TRUE(now.pays(1));
}

TEST(PassedPages, WhatIsFilledInOrderAndLookedUpIsNotReleasedForLong) {
  Memory before(false), now(true);
  for (Memory *memory : {&before, &now}) {
    std::mt19937 random(3);
    for (uint32_t i = 0; i < kBlock; ++i) {
      memory->use(0, i);
      if (i >= Memory::kWindow) memory->pass(0, i - Memory::kWindow);
      memory->use(0, i - static_cast<uint32_t>(random() % std::min(i + 1, kMemory / 2)));
    }
  }
  EXPECT_FALSE(now.pays(0));
  EXPECT_LT(now.released(0), kBlock / 6) << "all while memory fills, then one in 16";
  EXPECT_LT(now.waits(0), before.waits(0) + kBlock / 8);
}

TEST(PassedPages, ALaterSweepIsNoRegret) {
  Memory memory(true);
  for (unsigned round = 0; round < 8; ++round) memory.sweep(0, 4 * kMemory);
  EXPECT_TRUE(memory.pays(0));
  EXPECT_LT(memory.waits(0), 8 * 4 * kMemory - 6 * kMemory) << "the part that stays is waited for once";
}

TEST(PassedPages, SamplesTellWhenItPaysAgain) {
  PassedNotes notes;
  PassedPages pages;
  uint32_t released = 0;
  const auto pass = [&](uint32_t slot, uint64_t now) {
    if (!PassedNotes::notes(slot) && !pages.pays()) return;
    if (PassedNotes::notes(slot)) notes.passed(slot, kClean, now), pages.passed();
    ++released;
  };
  uint32_t slot = 0;
  for (; slot < 20000; ++slot) {
    pass(slot, slot);
    if (slot >= 50 && notes.regretted(slot - 50, slot, kMemory) == kClean) pages.regretted();
  }
  EXPECT_FALSE(pages.pays());
  const uint32_t while_regretted = released;
  EXPECT_LT(while_regretted, 20000 / PassedNotes::kSample + 500);
  for (; slot < 80000; ++slot) pass(slot, slot);
  EXPECT_TRUE(pages.pays());
  EXPECT_GT(released - while_regretted, 30000u);
}

TEST(PassedPages, WhatComesBackAfterHalfOfMemoryHasGoneIsNoRegret) {
  PassedNotes notes;
  uint32_t noted = 0;
  while (!PassedNotes::notes(noted)) ++noted;
  notes.passed(noted, 1, 10);
  EXPECT_EQ(notes.regretted(noted, 11 + kMemory / 2, kMemory), PassedNotes::kNone);
  notes.passed(noted, 1, 10);
  EXPECT_EQ(notes.regretted(noted, 10 + kMemory / 2, kMemory), 1u);
  EXPECT_EQ(notes.regretted(noted, 10 + kMemory / 2, kMemory), PassedNotes::kNone) << "once";
}

} // namespace pagecast::core::test
