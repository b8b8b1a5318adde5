// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/message.h"

#include <cerrno>
#include <cstdio>
#include <gtest/gtest.h>
#include <printf.h>
#include <string>
#include <unistd.h>

namespace pagecast {
namespace {

int calls = 0;
int strange_number(FILE *, const printf_info *, const void *const *) { return ++calls, 0; }
int strange_size(const printf_info *, size_t, int *, int *) { return ++calls, 0; }

template <typename... T> std::string written(const char *format, T... arguments) {
  char text[200];
  const int length = write_text(text, sizeof text, format, arguments...);
  EXPECT_EQ(static_cast<size_t>(length), std::string(text).size());
  return text;
}

TEST(Message, WritesWhatItsFormatsSay) {
  EXPECT_EQ(written("%s and %.3s, %.*s%c", "whole", "part of it", 2, "two", '!'), "whole and par, tw!");
  EXPECT_EQ(written("%d %d %u", -2147483647 - 1, 7, 4294967295u), "-2147483648 7 4294967295");
  EXPECT_EQ(written("%llu %zu %lld", 18446744073709551615ull, size_t{0}, -9ll), "18446744073709551615 0 -9");
  EXPECT_EQ(written("%016llx %04x %x", 0xfedcull, 0x1fu, 0u), "000000000000fedc 001f 0");
  EXPECT_EQ(written("100 %% of %s", "it"), "100 % of it");
}

TEST(Message, IsCutWhereItsRoomEndsAndSaysHowLongItIs) {
  char text[8] = "*******";
  EXPECT_EQ(write_text(text, 5, "%s", "longer than that"), 16);
  EXPECT_STREQ(text, "long");
  EXPECT_EQ(text[5], '*');
  EXPECT_EQ(write_text(text, 0, "%d", 100), 3);
  EXPECT_STREQ(text, "long");
}

TEST(Message, AReasonOfSeveralLinesOfTextIsSaidWhole) {
  const std::string reason(1500, 'r');
  testing::internal::CaptureStderr();
  say("not paged: %s. It runs", reason.c_str());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "pagecast: not paged: " + reason + ". It runs\n");
}

// A library whose tables are paged could not be asked by the pager's thread, which would have to bring them.
TEST(Message, DoesNotAskWhoRegisteredWithPrintf) {
  ASSERT_EQ(register_printf_specifier('d', strange_number, strange_size), 0);
  char text[20];
  snprintf(text, sizeof text, std::string("%d").c_str(), 5);
  EXPECT_GT(calls, 0); // so it would be seen
  calls = 0;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int standard_error = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  say("%d pages lost: %s", 5, error_text(EIO));
  dup2(standard_error, STDERR_FILENO);
  char line[80] = "";
  EXPECT_GT(read(ends[0], line, sizeof line - 1), 0);
  EXPECT_STREQ(line, "pagecast: 5 pages lost: Input/output error\n");
  EXPECT_EQ(calls, 0);
}

} // namespace
} // namespace pagecast
