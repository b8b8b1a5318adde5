// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/statistics.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace pagecast;

TEST(Statistics, IsJsonAndCountsHits) {
  static Statistics s;
  static uint64_t cache = 0;
  static const pagecast_group groups[2] = {{PAGECAST_READS, 8, 0, 8, 12, 3, "a\"\\\n"},
                                           {PAGECAST_INDIRECT, 4, 0, 4, 13, 5, nullptr}};
  static const pagecast_nest nest{
      PAGECAST_ABI_VERSION, 1, 0, 1, 2, 0, 0, 0, groups, nullptr, nullptr, nullptr, nullptr, "f.c", "f", 11, 0, &cache, 0, 0};
  const uint32_t first = s.sites_of(&nest);
  ASSERT_EQ(first, 1u);
  ASSERT_EQ(s.sites_of(&nest), first);
  s.site[first].prefetched = 100;
  s.site[first].late = 7;
  s.site[first].unused = 3;
  s.not_prefetched = 10;
  Statistics::modules = 1;
  s.stall_ns[StallKind::kLate] = 250'000'000;
  s.stall_ns[StallKind::kRoom] = 500'000'000;
  const std::string path = "/tmp/statistics-test-" + std::to_string(getpid()) + ".json";
  ASSERT_EQ(write_statistics(s, open_statistics(path.c_str(), true), true, nullptr, 1.5), 0);
  std::ifstream in(path);
  const auto j = nlohmann::json::parse(in);
  unlink(path.c_str());
  EXPECT_EQ(j["version"], 1);
  EXPECT_TRUE(j["compiled"]);
  EXPECT_EQ(j["faults"]["prefetched_hit"], 90);
  EXPECT_EQ(j["faults"]["late"], 7);
  EXPECT_EQ(j["faults"]["not_prefetched"], 10);
  ASSERT_EQ(j["sites"].size(), 2u);
  EXPECT_EQ(j["sites"][0]["name"], "a\"\\\n");
  EXPECT_EQ(j["sites"][0]["line"], 12);
  EXPECT_TRUE(j["sites"][1]["indirect"]);
  EXPECT_DOUBLE_EQ(j["time"]["stall_s"], 0.75);
  EXPECT_DOUBLE_EQ(j["stall_by_kind"]["late_s"], 0.25);
  EXPECT_DOUBLE_EQ(j["stall_by_kind"]["room_s"], 0.5);
  EXPECT_DOUBLE_EQ(j["stall_by_kind"]["zero_fill_s"], 0);
  EXPECT_LT(open_statistics("/nonexistent/x", true), 0);
}

TEST(Statistics, AReasonIsWrittenWhole) {
  static Statistics s;
  const std::string path = "/tmp/statistics-test-" + std::to_string(getpid()) + ".json", reason(900, 'r');
  ASSERT_EQ(write_statistics(s, open_statistics(path.c_str(), true), false, reason.c_str(), 1.5), 0);
  std::ifstream in(path);
  const auto j = nlohmann::json::parse(in);
  unlink(path.c_str());
  EXPECT_EQ(j["why_not"], reason);
}

TEST(Statistics, WaitsThatNobodyMeasuredAreNull) {
  static Statistics s;
  s.stalls_are_measured = false;
  const std::string path = "/tmp/statistics-test-" + std::to_string(getpid()) + ".json";
  ASSERT_EQ(write_statistics(s, open_statistics(path.c_str(), true), true, nullptr, 1.5), 0);
  std::ifstream in(path);
  const auto j = nlohmann::json::parse(in);
  unlink(path.c_str());
  EXPECT_TRUE(j["time"]["stall_s"].is_null());
  EXPECT_TRUE(j["stall_by_kind"].is_null());
}
