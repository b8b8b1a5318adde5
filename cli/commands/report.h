// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace pagecast::cli {

struct ReportOptions {
  std::vector<std::string> files; ///< that runs wrote with --stats
  bool json = false;
};

/// Prints what the runs did, a row each, in the order of the files. Throws Failure at the first that cannot be read; nothing
/// has been printed then.
int report(const ReportOptions &options);

} // namespace pagecast::cli
