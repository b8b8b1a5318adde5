// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/place_bytes.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kPage = 4096;

/// What faults tell of places `stride` apart with `bytes` each: a page that begins within a place.
void go_through(PlaceBytes &width, uint64_t stride, uint64_t bytes, unsigned places = PlaceBytes::kEnough) {
  for (unsigned i = 0; i < places; ++i) {
    const uint64_t place = 1000 + i * stride;
    for (uint64_t page = (place / kPage + 1) * kPage; page < place + bytes; page += kPage) width.behind(page - place);
    width.came();
  }
}

TEST(PlaceBytes, IsFoundToTheLineWherePlacesLieDifferentlyInTheirPages) {
  PlaceBytes width;
  go_through(width, 24000, 1792);
  EXPECT_GT(width.bytes(), 1792 - 64u) << "24,000 bytes are 375 lines";
  EXPECT_LE(width.bytes(), 1792u);
}

TEST(PlaceBytes, IsFoundOverSeveralPages) {
  PlaceBytes width;
  go_through(width, 50016, 9000);
  EXPECT_GT(width.bytes(), 9000 - 512u);
  EXPECT_LE(width.bytes(), 9000u);
}

TEST(PlaceBytes, AreWholePagesWherePlacesLieAlike) {
  PlaceBytes width;
  go_through(width, 8 * kPage, 8000); // at 1,000 of each first page
  EXPECT_EQ(width.bytes(), 2 * kPage - 1000 + 1) << "as far as the third page";
}

TEST(PlaceBytes, IsOneUntilItIsKnown) {
  PlaceBytes width;
  go_through(width, 24000, 1792, PlaceBytes::kEnough - 1);
  EXPECT_EQ(width.bytes(), 1u);
}

TEST(PlaceBytes, OtherStreamsFaultsDoNotCount) {
  PlaceBytes width;
  for (unsigned i = 0; i < 10 * PlaceBytes::kEnough; ++i) {
    if (i % PlaceBytes::kFew == 1) width.behind(i * 61 % 3500); // few, anywhere
    width.behind(24000 + i * 64 % 1792); // many, of the row behind
    width.came();
  }
  EXPECT_EQ(width.bytes(), 1u);
}

TEST(PlaceBytes, DoesNotShrinkWhereFaultsAreNoLongerSeen) {
  PlaceBytes width;
  go_through(width, 24000, 1792);
  const uint64_t known = width.bytes();
  go_through(width, 24000, 1);
  EXPECT_EQ(width.bytes(), known);
  width.forget();
  EXPECT_EQ(width.bytes(), 1u);
}

} // namespace
} // namespace pagecast::core::test
