// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running another program to its end, to read what it says.
#pragma once
#include <string>
#include <vector>

namespace pagecast::cli {

enum class Keep { kOutput, kErrors };

struct Finished {
  int status = -1;  ///< its exit status; -1 = it could not be started, or died of a signal
  std::string text; ///< what it wrote to the kept stream; the other one is dropped
};

/// Runs `command` with nothing on its standard input. The program is searched for in PATH.
Finished runProgram(const std::vector<std::string> &command, Keep keep);

} // namespace pagecast::cli
