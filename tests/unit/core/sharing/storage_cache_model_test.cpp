// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The storage cache against a model that does everything by search: seeded random references and prefetches.
#include <gtest/gtest.h>

#include "cache.h"
#include <algorithm>
#include <deque>
#include <random>

namespace pagecast::core::test {
namespace {

class Model {
public:
  Model(StoragePolicy policy, uint32_t frames) : policy_(policy), frames_(frames) {}

  bool reference(uint64_t block, uint32_t client) { // whether it was there
    for (Prefetch &p : prefetches_) {
      if (p.open && p.victim == block) harm(p);
      if (p.block != block || p.gone) continue;
      p.open = false;
      p.proven = true;
    }
    return bring(block, client, false);
  }
  bool prefetch(uint64_t block, uint32_t client) { return !there(block) && (bring(block, client, true), true); }
  bool there(uint64_t block) const { return find(main_, block) || find(new_, block); }

  uint64_t intra = 0, inter = 0, unused = 0;

private:
  struct Entry {
    uint64_t block;
    uint32_t client;
    std::vector<uint64_t> uses; ///< in which periods
  };
  struct Prefetch {
    uint64_t block, victim;
    uint32_t client, owner;
    bool open = true, proven = false, gone = false;
  };

  static const Entry *find(const std::deque<Entry> &list, uint64_t block) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const Entry &e) { return e.block == block; });
    return at == list.end() ? nullptr : &*at;
  }
  void harm(Prefetch &p) {
    ++(p.client == p.owner ? intra : inter);
    p.open = false;
  }
  bool bring(uint64_t block, uint32_t client, bool is_prefetch) {
    if (const Entry *e = find(main_, block)) { // the back is used least recently
      Entry moved = *e;
      moved.uses.push_back(period());
      main_.erase(main_.begin() + index(main_, block));
      main_.push_front(moved);
      return true;
    }
    if (find(new_, block)) {
      new_[index(new_, block)].uses.push_back(period());
      return true;
    }
    uint64_t victim = kNoBlock;
    uint32_t owner = 0;
    if (main_.size() + new_.size() == frames_) evict(&victim, &owner);
    if (is_prefetch) prefetches_.push_back({block, victim, client, owner, victim != kNoBlock});
    const auto name = std::find(names_.begin(), names_.end(), block);
    ++came_;
    const bool is_known = name != names_.end();
    if (is_known) *name = kNoBlock;
    (policy_ == StoragePolicy::kTwoQueues && !is_known ? new_ : main_).push_front({block, client, {period()}});
    return false;
  }
  static long index(const std::deque<Entry> &list, uint64_t block) {
    return std::find_if(list.begin(), list.end(), [&](const Entry &e) { return e.block == block; }) - list.begin();
  }
  uint64_t period() const { return came_ ? (came_ - 1) / frames_ : 0; }
  unsigned history(const Entry &e) const {
    unsigned out = 0;
    for (const uint64_t use : e.uses)
      if (const uint64_t ago = period() - use; ago < 8) out |= 0x80u >> ago;
    return out;
  }
  void evict(uint64_t *victim, uint32_t *owner) {
    std::deque<Entry> *from = &main_;
    long at = long(main_.size()) - 1;
    if (policy_ == StoragePolicy::kTwoQueues) {
      if (new_.size() > frames_ / 4 || main_.empty()) from = &new_;
      at = long(from->size()) - 1;
    } else {
      for (long i = at; i >= 0 && i > long(main_.size()) - 1 - long(FrameOrder::kLookAt); --i)
        if (history(main_[size_t(i)]) < history(main_[size_t(at)])) at = i;
    }
    *victim = (*from)[size_t(at)].block;
    *owner = (*from)[size_t(at)].client;
    if (from == &new_) remember(*victim);
    from->erase(from->begin() + at);
    for (Prefetch &p : prefetches_) {
      if (p.block != *victim || p.gone) continue;
      p.gone = true;
      unused += !p.proven;
      if (p.open) harm(p);
    }
  }
  void remember(uint64_t block) {
    names_.push_back(block);
    if (names_.size() > FrameOrder::remembered(frames_)) names_.pop_front();
  }

  StoragePolicy policy_;
  size_t frames_;
  std::deque<Entry> main_, new_;
  std::deque<uint64_t> names_;
  std::vector<Prefetch> prefetches_;
  uint64_t came_ = 0;
};

class StorageCacheModel : public testing::TestWithParam<StoragePolicy> {};

TEST_P(StorageCacheModel, Agrees) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    const uint32_t frames = 5 + random() % 90;
    Cache real(GetParam(), frames);
    Model model(GetParam(), frames);
    uint64_t hits = 0, started = 0;
    for (int i = 0; i < 4000; ++i) {
      const uint64_t block = random() % 3 ? random() % (frames * 2) : 1000 + uint64_t(i) / 3;
      const uint32_t client = random() % 4;
      if (random() % 3) {
        const bool expected = model.reference(block, client);
        ASSERT_EQ(real.reference(block, client) == StorageCache::Found::kHere, expected) << seed << ": step " << i;
        hits += expected;
      } else {
        const bool expected = model.prefetch(block, client);
        ASSERT_EQ(real.prefetch(block, client) == StorageCache::Found::kFetch, expected) << seed << ": step " << i;
        started += expected;
      }
      if (i % 64 == 0) { ASSERT_TRUE(real.cache.is_valid()); }
    }
    ClientCounts sum;
    for (uint32_t c = 0; c < 4; ++c) sum += real.cache.counts(c);
    EXPECT_EQ(sum.hits, hits);
    EXPECT_EQ(sum.prefetches, started);
    EXPECT_EQ(sum.unused, model.unused) << seed;
    EXPECT_EQ(sum.harmful_intra, model.intra) << seed;
    EXPECT_EQ(sum.harmful_inter, model.inter) << seed;
    EXPECT_GT(sum.harmful_inter, 50u) << "the run exercises what it is about";
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, StorageCacheModel, testing::Values(StoragePolicy::kAging, StoragePolicy::kTwoQueues));

} // namespace
} // namespace pagecast::core::test
