// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/packed_pages.h"

#include "runtime/kernel/os.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace pagecast::test {
namespace {

/// A page of small numbers, or of noise, by `seed`.
std::vector<char> page_of(uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<char> page(os::page_size());
  for (size_t at = 0; at < page.size(); at += sizeof(uint64_t)) {
    const uint64_t value = seed % 4 ? random() % 1000 : random();
    std::memcpy(page.data() + at, &value, sizeof value);
  }
  return page;
}

} // namespace

/// As the shelf does: pages come and go, and half of the memory is given back now and then.
TEST(PackedPages, ArePackedAndUnpackedWhileTheirMemoryGrowsAndShrinks) {
  constexpr uint64_t kMost = 1u << 20;
  PackedPages pages;
  ASSERT_TRUE(pages.start(kMost, os::page_size()));
  pages.compress(true);
  struct Kept {
    PackedPages::Packed packed;
    uint32_t seed;
  };
  std::vector<Kept> kept;
  std::vector<char> page(os::page_size());
  std::mt19937 random(1);
  unsigned shrunk = 0;
  for (uint32_t i = 0; i < 20'000; ++i) {
    if (i % 1000 == 0) pages.grow(kMost);
    if (pages.room() >= os::page_size() && random() % 8) {
      kept.push_back({pages.pack(page_of(i).data()), i});
    } else if (!kept.empty()) {
      std::swap(kept[random() % kept.size()], kept.back());
      pages.unpack(kept.back().packed, page.data());
      ASSERT_EQ(page, page_of(kept.back().seed)) << i;
      pages.drop(kept.back().packed);
      kept.pop_back();
    }
    if (i % 1000 != 700) continue;
    const uint64_t before = pages.bytes();
    EXPECT_FALSE(pages.shrink(before / 2, [] { FAIL() << "more are in use"; }));
    while (pages.capacity() - pages.room() > pages.capacity() / 3) pages.drop(kept.back().packed), kept.pop_back();
    const auto lower = [&] {
      for (Kept &k : kept) pages.lower(k.packed);
    };
    ASSERT_TRUE(pages.shrink(before / 2, lower));
    EXPECT_LE(pages.bytes(), before / 2);
    for (const Kept &k : kept) {
      pages.unpack(k.packed, page.data());
      ASSERT_EQ(page, page_of(k.seed)) << i;
    }
    ++shrunk;
  }
  EXPECT_EQ(shrunk, 20u);
  EXPECT_GT(pages.ratio(), 1.25);
}

} // namespace pagecast::test
