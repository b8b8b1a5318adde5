// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks: one per group hinted (Hinted, HintedIndirect), one per loop strip-mined (StripMined), and
// one missed remark per reference or loop refused, whose names are those of Refusal.
#ifndef PAGECAST_COMPILER_REMARKS_H
#define PAGECAST_COMPILER_REMARKS_H

#include "nests/Nests.h"

namespace llvm {
class OptimizationRemarkEmitter;
}

namespace pagecast {

/// Emits the remarks. It comes before the transformation, while expressions still describe the loops.
void emitRemarks(const NestList &List, const Transfers &T, llvm::OptimizationRemarkEmitter &ORE);

} // namespace pagecast

#endif
