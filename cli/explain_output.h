// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "explanation.h"
#include <string>

namespace pagecast::cli {

/// For people: at most 100 columns, whatever the length of the names.
std::string explanationAsText(const Explanation &all, bool colours);

/// The version of the fields that explanationAsJson writes; docs/explain.md lists them.
inline constexpr int kExplanationVersion = 1;
std::string explanationAsJson(const Explanation &all);

} // namespace pagecast::cli
