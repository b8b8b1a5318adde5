// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

namespace pagecast::cli {

/// The name of the function that has the byte at `offset` of a program, as its table of symbols has it; "" if that is not known.
std::string functionAt(const std::string &program, uint64_t offset);

} // namespace pagecast::cli
