// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emission: the code of pagecast/abi.h around and inside a nest.
//
//     count, ticket = trips >= gate[bytes of an iteration] ? __pagecast_enter(nest, words) : trips, null
//     outer loops ... {
//         strip of `count` iterations; if (ticket) more strips, as __pagecast_next says
//     }
//     if (ticket) __pagecast_exit(ticket)            unless the runtime can count which strip or tick is the last
//
// There is one copy of the loop, and what only an open nest needs is off its path. Where nothing is paged, a nest costs a product
// of trip counts and two predicted branches. If there are loops around its innermost one, each entry to that costs one more.
#ifndef PAGECAST_COMPILER_EMIT_H
#define PAGECAST_COMPILER_EMIT_H

#include "nests/Nests.h"

namespace pagecast {

/// Puts the hints of the nests into the function. Loops must be put into canonical form again after it.
void emitHints(llvm::Function &F, llvm::ArrayRef<Nest> Nests, const Transfers &T, llvm::LoopInfo &LI, llvm::DominatorTree &DT,
               llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
