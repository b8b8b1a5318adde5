// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eligible functions: in which the pass has any business.
#ifndef PAGECAST_COMPILER_ELIGIBLE_H
#define PAGECAST_COMPILER_ELIGIBLE_H

namespace llvm {
class Function;
}

namespace pagecast {

/// Whether the pass may change the function. It may not if that is not optimized, or if its author has excluded it by an
/// attribute or annotation. Nor may it put calls where control flows in ways that have no place for them.
bool isEligible(const llvm::Function &F);

} // namespace pagecast

#endif
