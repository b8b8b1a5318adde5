// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace pagecast::speculate {

struct Options {
  std::string stats;    ///< file for statistics; empty = none
  bool summary = false; ///< a few lines on standard error at the end
  bool account = false; ///< the program is traced, for an account of its reads
  bool eager = false;   ///< for tests: a copy in every wait that allows one, whether it is worth its price or not
  std::vector<std::string> command;
};

/// Becomes the program, with a controller beside it. With statistics or a summary, a process stays to write them, and ends
/// as the program did. Returns only when the program cannot be run: errno of that.
int start(const Options &options);

/// For a child of a program that was started without statistics, and has begun: watches it until it ends. All signals are blocked.
[[noreturn]] void watch(int program);

/// Why this host allows no copies; empty when it does. `advice`: what to do.
std::string host_refusal(std::string *advice);

/// A second lock for copies, which not every kernel has.
bool host_has_landlock();

} // namespace pagecast::speculate
