// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace pagecast::cli {

/// The member of `known` that takes the fewest changed letters to become `word`.
std::string nearest(const std::string &word, const std::vector<std::string> &known);

} // namespace pagecast::cli
