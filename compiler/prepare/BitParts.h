// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a loop makes of its counter by shifts and masks at some bit, which is not known before it runs:
//
//     low      counter & mask                 the bits below: 0, 1, 2 .. and then 0 again
//     high     counter & ~mask                the bits above, in their places
//     number   counter >> bit                 the bits above, as a number
//     shifted  number << amount               in other places
//     joined   high | low, joined | partner   their sum, where no bit is in both
//
// In a run of 1 << bit iterations that begins at a multiple of it, low goes up by one, and the bits above stay. The masks and
// amounts are whatever they are: BitRuns.h has the program test that they fit together.
#ifndef PAGECAST_COMPILER_BITPARTS_H
#define PAGECAST_COMPILER_BITPARTS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include <optional>

namespace pagecast {

/// What a value consists of. No bit is in two of the parts, if the tests say so.
struct BitSum {
  bool High = false;                   ///< multiples of 1 << `Amount`, or of the run's length if that is null, << `Left`
  llvm::Value *Amount = nullptr;
  uint64_t Left = 0;
  bool Low = false;                    ///< less than the run's length
  llvm::Value *Partner = nullptr;      ///< invariant
};

struct BitParts {
  llvm::PHINode *Counter = nullptr;
  llvm::SmallVector<llvm::BinaryOperator *, 4> Low, High, Number, Shifted;
  llvm::SmallVector<std::pair<llvm::BinaryOperator *, BitSum>, 8> Joined; ///< by "or" and "xor"
};

/// The parts of the loop's counter, if there are both its low bits and those above. Constant masks and amounts make none: LLVM knows
/// them.
std::optional<BitParts> bitPartsOf(const llvm::Loop *L, llvm::PHINode *Counter);

} // namespace pagecast

#endif
