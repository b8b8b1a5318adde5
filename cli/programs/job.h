// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What clang's or flang's driver will do with a command line, as far as it matters for the plugin and the
// runtime.
#pragma once
#include "cli/programs/compiler.h"
#include <string>
#include <vector>

namespace pagecast::cli {

/// What the compiler will do with a command line.
struct CompileJob {
  bool compiles = false; ///< some input goes through the optimizer
  bool links = false;
  bool shared = false;
  bool isStatic = false;
};

/// Reads the arguments of the compiler for `language`, the response files among them too.
CompileJob readJob(const std::vector<std::string> &arguments, Language language);

} // namespace pagecast::cli
