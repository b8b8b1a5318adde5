// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The printer: what the analysis has found, as text that the tests of the analysis read.
#ifndef PAGECAST_COMPILER_PRINTER_H
#define PAGECAST_COMPILER_PRINTER_H

#include "nests/Nests.h"

namespace pagecast {

/// Prints nests, groups and refusals, before anything is emitted.
void printNests(const NestList &List, llvm::raw_ostream &OS);

} // namespace pagecast

#endif
