// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pagecast::cli {

struct ProfileOptions {
  std::string file; ///< to be written; empty: profile.json
  uint32_t epochs = 500;
  std::vector<std::string> command;
};

/// Runs the program, joins what its processes noted, and ends as it did.
[[noreturn]] void profile(const ProfileOptions &);

struct ShowProfileOptions {
  std::string file;
  std::string run; ///< a profile of another run; empty: none
  std::string svg; ///< to be written; empty: beside the profile
  std::string by = "nest";
  double threshold = 80; ///< percent
  uint32_t smallest = 3;
  bool json = false;
};

/// Prints who shares what in each phase, and draws it.
int showProfile(const ShowProfileOptions &);

} // namespace pagecast::cli
