// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/shared/channel.h"

#include <gtest/gtest.h>

namespace pagecast::speculate {
namespace {

/// Values of the function's own authors.
TEST(PathHash, IsFnv1a) {
  EXPECT_EQ(0xcbf29ce484222325u, path_hash(""));
  EXPECT_EQ(0xaf63dc4c8601ec8cu, path_hash("a"));
  EXPECT_EQ(0x85944171f73967e8u, path_hash("foobar"));
}

TEST(PathHash, BytesAboveAsciiCountAsTheyAre) { EXPECT_NE(path_hash("/\xc3\xa4"), path_hash("/\xc3\xa5")); }

} // namespace
} // namespace pagecast::speculate
