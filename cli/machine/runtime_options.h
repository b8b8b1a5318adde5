// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the runtime, as --option gives them: the same table as the runtime's own (runtime/state/options.def).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pagecast::cli {

/// Throws Failure when there is no option `name`, without PAGECAST_, or when it cannot be `value`. The runtime itself takes
/// the default then, since its user may be far away; here the user is told.
void requireRuntimeOption(const std::string &name, const std::string &value);

/// The smallest budget that the runtime accepts, bytes.
uint64_t leastMemory();

std::vector<std::string> releasePolicies();
/// The words of --far.
std::vector<std::string> farSchemes();

} // namespace pagecast::cli
