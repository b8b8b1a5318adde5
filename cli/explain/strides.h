// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far a reference goes in each iteration, in words: the compiler writes one expression for each loop, outermost first.
#pragma once
#include <string>

namespace pagecast::cli {

/// "8 * m, 8" becomes "8 bytes each iteration, 8 * m bytes each iteration of the loop outside". `call`: the function that stands
/// for the innermost loop, as memset may; empty: none.
std::string stridesInWords(const std::string &strides, const std::string &call);

} // namespace pagecast::cli
