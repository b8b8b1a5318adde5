// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/freed_cache.h"

#include "runtime/kernel/os.h"

#include <gtest/gtest.h>

using namespace pagecast;

namespace {

constexpr uint64_t kMiB = 1u << 20;

TEST(FreedCache, HandsOutWhatItKeepsAndCountsIt) {
  void *a = os::map_memory(4 * kMiB, true);
  freed_keep_or_unmap(a, 4 * kMiB);
  EXPECT_EQ(freed_bytes(), 4 * kMiB);
  EXPECT_EQ(freed_take(5 * kMiB), nullptr); // too small
  EXPECT_EQ(freed_take(2 * kMiB), nullptr); // too much would be wasted
  EXPECT_EQ(freed_take(4 * kMiB), a);
  EXPECT_EQ(freed_bytes(), 0u);
  os::unmap(a, 4 * kMiB);
}

TEST(FreedCache, DroppedMemoryIsGone) {
  void *blocks[3];
  for (void *&b : blocks) freed_keep_or_unmap(b = os::map_memory(kMiB, true), kMiB);
  EXPECT_EQ(freed_bytes(), 3 * kMiB);
  EXPECT_EQ(os::bytes_in_memory(reinterpret_cast<uint64_t>(blocks[1]), kMiB), kMiB);
  freed_drop();
  EXPECT_EQ(freed_bytes(), 0u);
  EXPECT_EQ(os::bytes_in_memory(reinterpret_cast<uint64_t>(blocks[1]), kMiB), 0u);
  EXPECT_EQ(freed_take(kMiB), nullptr);
}

TEST(FreedCache, LargeBlocksAreNotKept) {
  void *b = os::map_memory(64 * kMiB, false);
  freed_keep_or_unmap(b, 64 * kMiB);
  EXPECT_EQ(freed_bytes(), 0u);
}

} // namespace
