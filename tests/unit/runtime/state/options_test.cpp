// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/options.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

using namespace pagecast;

namespace {

struct Read {
  Options options;
  std::string said;
};

/// What comes of one variable.
Read read_with(const char *variable, const char *value) {
  setenv(variable, value, 1);
  testing::internal::CaptureStderr();
  Read out;
  read_options(out.options);
  unsetenv(variable);
  out.said = testing::internal::GetCapturedStderr();
  return out;
}

} // namespace

TEST(Options, SizesAsPeopleWriteThem) {
  const struct {
    const char *text;
    uint64_t bytes;
  } good[] = {{"0", 0},
              {"1048576", 1048576},
              {"256M", 256ull << 20},
              {"4GiB", 4ull << 30},
              {"1.5g", 3ull << 29},
              {"512k", 512 << 10},
              {"64MB", 64ull << 20},
              {"2T", 2ull << 40},
              {"100B", 100}};
  for (const auto &g : good) {
    uint64_t bytes = 1;
    EXPECT_TRUE(parse_size(g.text, &bytes)) << g.text;
    EXPECT_EQ(bytes, g.bytes) << g.text;
  }
  for (const char *bad : {"", "M", "-1", "12Q", "1 G", "4GiBs", "1e99", "0x10", "99999999T"}) {
    uint64_t bytes;
    EXPECT_FALSE(parse_size(bad, &bytes)) << bad;
  }
}

TEST(Options, PathsStayWhenTheProgramStoresOverItsEnvironment) {
  char entry[] = "PAGECAST_STATS=/var/tmp/run.json";
  putenv(entry);
  Options o;
  read_options(o);
  unsetenv("PAGECAST_STATS");
  memset(entry, 0, sizeof entry);
  EXPECT_STREQ(o.stats, "/var/tmp/run.json");
}

TEST(Options, EnvironmentIsReadAndBadValuesKeepTheDefault) {
  setenv("PAGECAST_MEMORY", "64M", 1);
  setenv("PAGECAST_RELEASE", "aggressive", 1);
  setenv("PAGECAST_SCHEDULE", "sideways", 1);
  setenv("PAGECAST_HINTS", "0", 1);
  testing::internal::CaptureStderr();
  Options o;
  read_options(o);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(o.memory, 64ull << 20);
  EXPECT_EQ(o.release, ReleasePolicy::kAggressive);
  EXPECT_EQ(o.schedule, core::Schedule::kContinuous);
  EXPECT_FALSE(o.hints);
  EXPECT_NE(said.find("PAGECAST_SCHEDULE=sideways is not a schedule"), std::string::npos) << said;
}

TEST(Options, UnknownVariableIsNamedWithTheNearest) {
  const std::string said = read_with("PAGECAST_MEMROY", "64M").said;
  EXPECT_NE(said.find("no option PAGECAST_MEMROY"), std::string::npos) << said;
  EXPECT_NE(said.find("PAGECAST_MEMORY"), std::string::npos) << said;
}

TEST(Options, BlocksOfTheCLibrarysOwnAreNeverLarge) {
  const Read read = read_with("PAGECAST_LARGE", "0");
  EXPECT_EQ(read.options.large, kLeastLarge);
  EXPECT_NE(read.said.find("4K is used"), std::string::npos);
}

TEST(Options, TooLittleMemoryBecomesTheLeast) {
  const Read read = read_with("PAGECAST_MEMORY", "0");
  EXPECT_NE(read.said.find("less than the least"), std::string::npos);
  EXPECT_EQ(read.options.memory, kLeastMemory);
}

TEST(Options, ARequestIsAPageAtLeast) {
  const Read read = read_with("PAGECAST_IO", "0");
  EXPECT_EQ(read.options.io, kLeastIo);
  EXPECT_NE(read.said.find("4K is used"), std::string::npos);
}

TEST(Options, HelpNamesEveryOption) {
  const std::string help = options_help();
#define PAGECAST_OPTION(field, NAME, type, initial, kind, text) EXPECT_NE(help.find("PAGECAST_" NAME " ("), std::string::npos);
#include "runtime/state/options.def"
#undef PAGECAST_OPTION
}
