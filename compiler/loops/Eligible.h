// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eligible functions: in which the pass has any business.
#ifndef PAGECAST_COMPILER_ELIGIBLE_H
#define PAGECAST_COMPILER_ELIGIBLE_H

namespace llvm {
class Function;
}

namespace pagecast {

/// False for what is not optimized, for what its author has excluded by an attribute or annotation, and for functions
/// in which control flows in ways that calls must not be put into.
bool isEligible(const llvm::Function &F);

} // namespace pagecast

#endif
