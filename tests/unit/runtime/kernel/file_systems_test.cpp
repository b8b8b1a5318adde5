// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/file_systems.h"

#include <gtest/gtest.h>
#include <string>

namespace pagecast {
namespace {

TEST(FileSystems, AreCountedByNameAndNeverTooMany) {
  note_file_system("xfs");
  note_file_system("nfs");
  note_file_system(std::string("xfs").c_str()); // the name counts, not where it stands
  EXPECT_STREQ(file_systems[0].name, "xfs");
  EXPECT_EQ(file_systems[0].mappings, 2u);
  EXPECT_STREQ(file_systems[1].name, "nfs");
  EXPECT_EQ(file_systems[1].mappings, 1u);
  EXPECT_EQ(file_systems[2].name, nullptr);
  static std::string names[2 * kFileSystems];
  for (unsigned i = 0; i < 2 * kFileSystems; ++i) note_file_system((names[i] = std::to_string(i)).c_str());
  EXPECT_EQ(file_systems[kFileSystems - 1].mappings, 1u);
}

} // namespace
} // namespace pagecast
