// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of a frame's open nests is around one that is entered.
#include "runtime/entry/nest_stack.h"

#include <gtest/gtest.h>

using namespace pagecast;

namespace {

const void *const kFrame = &kFrame;

OpenNest &open_with_slice(const pagecast_nest &description) {
  OpenNest &nest = *claim_nest();
  nest.description = &description;
  nest.frame = kFrame;
  nest.covers = true;
  push_open(&nest);
  return nest;
}

} // namespace

// for (r..) { for (i..) for (j < i) ..;  for (i..) for (j < i) ..; }: two nests of the loops r and i are entered before r.
TEST(NestStack, ANestIsNotAroundOneThatBeginsWithTheSameLoop) {
  pagecast_nest first{}, second{}, inside{}, alone{};
  first.root = second.root = 1;
  inside.root = 2;
  OpenNest &forward = open_with_slice(first);
  EXPECT_EQ(covering(second, kFrame), nullptr);
  EXPECT_EQ(covering(inside, kFrame), &forward);
  EXPECT_EQ(covering(alone, kFrame), &forward) << "it begins with a loop of its own";
  EXPECT_EQ(covering(inside, &forward), nullptr) << "of another frame";
  close_until(0);
}

TEST(NestStack, TheNestAroundTwoIsAroundBoth) {
  pagecast_nest outer{}, first{}, second{};
  first.root = second.root = 1;
  OpenNest &around = open_with_slice(outer);
  open_with_slice(first);
  EXPECT_EQ(covering(second, kFrame), &around);
  close_until(0);
}
