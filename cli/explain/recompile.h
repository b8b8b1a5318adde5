// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiling a source only to hear what the pass has to say of it.
#pragma once
#include "cli/explain/record.h"

namespace pagecast::cli {

/// The remarks for `source`, compiled with -O2 -g and the user's own `options`. Leaves no file behind. Throws
/// Failure when it does not compile, after printing what the compiler said, and when the pass did not run.
std::vector<Remark> remarksOf(const std::string &source, const std::vector<std::string> &options);

} // namespace pagecast::cli
