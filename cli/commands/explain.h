// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace pagecast::cli {

struct ExplainOptions {
  std::string file; ///< a source, or a record of remarks
  std::vector<std::string> compilerOptions;
  std::string statistics; ///< empty = none
  bool json = false;
  bool libraries = false; ///< show the lines of libraries, too
};

/// Prints what the pass did for each reference of `file`, and why not more.
int explain(const ExplainOptions &options);

} // namespace pagecast::cli
