// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/chunk_store.h"
#include "core/memory/compressibility.h"

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
