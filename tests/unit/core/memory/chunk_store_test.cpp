// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/chunk_store.h"
#include "core/memory/compressibility.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace pagecast::core::test {

TEST(ChunkStore, KeepsWhatWasPutThere) {
  constexpr uint32_t kChunks = 4000, kLongest = 4096;
  std::vector<char> contents(size_t{kChunks} * ChunkStore::kChunk);
  std::vector<uint32_t> next(kChunks);
  ChunkStore store;
  store.start(contents.data(), next.data());
  struct Kept {
    uint32_t first;
    std::string text;
  };
  std::vector<Kept> kept;
  std::mt19937 random(1);
  uint32_t chunks = 0;
  for (unsigned i = 0; i < 100'000; ++i) {
    if (store.count() < kChunks && i % 16 == 0) store.grow(4);
    ASSERT_EQ(store.free() + chunks, store.count());
    const uint32_t bytes = random() % 2 ? 1 + random() % kLongest : ChunkStore::kChunk * (1 + random() % 16);
    if (const uint32_t needed = ChunkStore::chunks_for(bytes); needed <= store.free()) {
      std::string text(bytes, '\0');
      for (char &c : text) c = static_cast<char>(random());
      kept.push_back({store.put(text.data(), bytes), text});
      chunks += needed;
    } else if (!kept.empty()) {
      std::swap(kept[random() % kept.size()], kept.back());
      const Kept &k = kept.back();
      std::string text(k.text.size(), '\0');
      store.get(k.first, static_cast<uint32_t>(text.size()), text.data());
      ASSERT_EQ(text, k.text);
      store.drop(k.first, static_cast<uint32_t>(text.size()));
      chunks -= ChunkStore::chunks_for(static_cast<uint32_t>(text.size()));
      kept.pop_back();
    }
  }
  EXPECT_GT(kept.size(), 100u);
  store.clear();
  EXPECT_EQ(store.count(), 0u);
}

TEST(ChunkStore, KeepsWhatWasPutThereWhenItShrinks) {
  constexpr uint32_t kChunks = 1000;
  std::vector<char> contents(size_t{kChunks} * ChunkStore::kChunk);
  std::vector<uint32_t> next(kChunks);
  ChunkStore store;
  store.start(contents.data(), next.data());
  store.grow(kChunks);
  std::vector<uint32_t> first;
  const auto bytes_of = [](size_t i) { return static_cast<uint32_t>(1 + i * 37 % 2000); };
  const auto text_of = [&](size_t i) { return std::string(bytes_of(i), static_cast<char>('a' + i % 26)); };
  for (size_t i = 0; i < 200; ++i) first.push_back(store.put(text_of(i).data(), bytes_of(i)));
  for (size_t i = 0; i < 200; i += 2) store.drop(first[i], bytes_of(i));
  const uint32_t used = store.count() - store.free();
  store.shrink(used + 1);
  for (size_t i = 1; i < 200; i += 2) first[i] = store.lowered(first[i], bytes_of(i));
  EXPECT_EQ(store.count(), used + 1);
  EXPECT_EQ(store.free(), 1u);
  std::fill(contents.begin() + (used + 1) * ChunkStore::kChunk, contents.end(), '!');
  for (size_t i = 1; i < 200; i += 2) {
    std::string text(bytes_of(i), ' ');
    store.get(first[i], bytes_of(i), text.data());
    ASSERT_EQ(text, text_of(i)) << i;
    store.drop(first[i], bytes_of(i));
  }
  EXPECT_EQ(store.free(), store.count());
  store.grow(kChunks - store.count());
  EXPECT_EQ(store.free(), kChunks);
}

TEST(Compressibility, IsSeldomTriedWhereItGainsLittle) {
  Compressibility pages;
  unsigned tried = 0;
  for (unsigned i = 0; i < 10'000; ++i)
    if (pages.worthwhile()) pages.tried(1), ++tried;
  EXPECT_LT(tried, 10'000 / Compressibility::kProbe + 200);
  EXPECT_EQ(pages.ratio(), 1);
  for (unsigned i = 0; i < 100 * Compressibility::kProbe; ++i)
    if (pages.worthwhile()) pages.tried(0.25);
  EXPECT_TRUE(pages.worthwhile());
  EXPECT_NEAR(pages.ratio(), 4, 0.5) << "other contents are seen";
}

} // namespace pagecast::core::test
