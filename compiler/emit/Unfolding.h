// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unfolding: which transfers become loops for the analysis (Transfers.h).
#ifndef PAGECAST_COMPILER_UNFOLDING_H
#define PAGECAST_COMPILER_UNFOLDING_H

#include "nests/Nests.h"

namespace pagecast {

/// Makes loops of the transfers, but of those in loops only if every reference that would be hinted without still is.
void unfoldWhatPays(llvm::Function &F, Transfers &T, llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE,
                    NeedsChecks Checks);

} // namespace pagecast

#endif
