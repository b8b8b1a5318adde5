// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the user calls things: debug information knows it, also where a function was inlined into its caller.
#ifndef PAGECAST_COMPILER_SOURCE_NAMES_H
#define PAGECAST_COMPILER_SOURCE_NAMES_H

#include "nests/Groups.h"

#include <string>

namespace pagecast {

/// Name of the array or pointer of a group in the source, or "". Of an inlined function's parameter it is what the caller
/// passed, since a helper that sums any array tells the user nothing.
std::string sourceName(const Group &G);

/// An expression with the names of variables in place of values': (8 * m). Of several that have a value, one that is declared
/// around `Where` and has no other value is named.
std::string sourceText(const llvm::SCEV *S, const llvm::DebugLoc &Where);

} // namespace pagecast

#endif
