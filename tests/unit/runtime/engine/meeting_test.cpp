// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Meetings under virtual time: the clock goes on by waits alone, and what the helper does is done at a time.
#include "runtime/engine/meeting.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>

using namespace pagecast;

namespace {

constexpr uint64_t kMs = 1'000'000;

/// At each wait, the helper may do something.
struct VirtualClock {
  uint64_t now = 7 * kMs, waits = 0;
  std::function<void(uint64_t waits)> helper;
  uint64_t now_ns() const { return now; }
  void wait(const std::atomic<uint32_t> *, uint32_t, uint64_t ns) {
    now += ns;
    helper(++waits);
  }
};

/// A nest of 100 steps, served in ten intervals.
struct Meeting : testing::Test {
  std::unique_ptr<JobEntry> entry = std::make_unique<JobEntry>();
  OpenNest &nest = nest_table[0];
  VirtualClock clock;

  Meeting() {
    core::Shape shape;
    shape.loops = 2;
    shape.groups = 1;
    shape.trips[0] = 100;
    shape.trips[1] = (1 << 20) / 8;
    core::Group &planes = shape.group[0]; // each of a MiB, so that an iteration is a step
    planes.reads = true;
    planes.element = planes.hi = 8;
    planes.base = uint64_t{1} << 40;
    planes.stride[0] = 1 << 20;
    planes.stride[1] = 8;
    core::Conditions conditions;
    conditions.budget = 16 << 20;
    conditions.max_io = 512 << 10;
    nest.policy.start(shape, conditions, 0);
    nest.ticks.start(shape, nest.policy.strip());
    nest.ticket = {0, ~0ull, nest.policy.strip()};
    entry->serial = 3;
    entry->verdict = JobVerdict{3, 10, JobVerdict::kServed}.packed();
    entry->asked = 2;
    nest.served = entry.get();
    clock.helper = [](uint64_t) {};
  }
  ~Meeting() override { nest.served = nullptr; }
  /// The program has done so many of its 100 steps.
  void come_to(uint64_t step) {
    ASSERT_EQ(nest.policy.steps(), 100u);
    nest.ticket.step = step;
  }
};

TEST_F(Meeting, NobodyWaitsForWhatHasBeenAskedFor) {
  come_to(19);
  EXPECT_EQ(wait_for_team(nest, clock), 0u);
  EXPECT_EQ(clock.waits, 0u);
  EXPECT_EQ(entry->meetings, 0u);
}

TEST_F(Meeting, AWaitEndsWhenTheHelperHasAskedAndIsCounted) {
  come_to(20);
  clock.helper = [this](uint64_t waits) { entry->asked = waits < 3 ? 2 : 3; };
  EXPECT_EQ(wait_for_team(nest, clock), 3 * kMeetingLookNs);
  EXPECT_EQ(entry->meetings, 1u);
  EXPECT_EQ(entry->met_ns, 3 * kMeetingLookNs);
  come_to(30);
  clock.helper = [this](uint64_t) { entry->asked = 10; };
  EXPECT_EQ(wait_for_team(nest, clock), kMeetingLookNs);
  EXPECT_EQ(entry->meetings, 2u);
  EXPECT_EQ(entry->met_ns, 4 * kMeetingLookNs);
}

TEST_F(Meeting, AWaitHasAnEndAndIsTheLastOfItsNest) {
  come_to(50);
  const uint64_t waited = wait_for_team(nest, clock);
  EXPECT_GT(waited, kLongestMeetingNs);
  EXPECT_LE(waited, kLongestMeetingNs + kMeetingLookNs);
  EXPECT_EQ(nest.served.load(), nullptr);
  EXPECT_EQ(wait_for_team(nest, clock), 0u);
  EXPECT_EQ(entry->meetings, 1u);
}

TEST_F(Meeting, WhoIsNotServedAnyMoreDoesNotWait) {
  come_to(50);
  clock.helper = [this](uint64_t) { entry->verdict = JobVerdict{3, 0, JobVerdict::kOwn}.packed(); };
  EXPECT_EQ(wait_for_team(nest, clock), kMeetingLookNs);
  entry->verdict = JobVerdict{1, 10, JobVerdict::kServed}.packed(); // of an earlier nest
  EXPECT_EQ(wait_for_team(nest, clock), 0u);
}

TEST_F(Meeting, NobodyWaitsBehindTheLastInterval) {
  come_to(99);
  entry->asked = 10;
  EXPECT_EQ(wait_for_team(nest, clock), 0u);
}

} // namespace
