// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emission: the code of pagecast/abi.h around and inside a nest. The ticked loop gets a second copy,
// split into strips, for when the nest has been entered; everything else runs the original:
//
//     footprint = trips * bytes
//     ticket = footprint >= gate ? __pagecast_enter(nest, arguments, arguments) : null
//     outer loops ... {
//         if (ticket) strips of the copy, a tick after each   else  the loop as it was
//     }
//     if (ticket) __pagecast_exit(ticket)
//
// So where nothing is paged, a nest costs a product of trip counts and one predicted branch, and a
// second one on each entry to its innermost loop, if there are loops around that.
#ifndef PAGECAST_COMPILER_EMIT_H
#define PAGECAST_COMPILER_EMIT_H

#include "Nests.h"

namespace pagecast {

/// `opt -passes=pagecast`: finds the nests of a function and emits their hints.
class PagecastPass : public llvm::PassInfoMixin<PagecastPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &F, llvm::FunctionAnalysisManager &AM);
};

} // namespace pagecast

#endif
