// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "cli/programs/compiler.h"
#include <string>
#include <vector>

namespace pagecast::cli {

/// Becomes clang or flang with the pass loaded and the runtime linked. Returns only by throwing Failure.
[[noreturn]] void cc(Language language, const std::vector<std::string> &arguments);

} // namespace pagecast::cli
