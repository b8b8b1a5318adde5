// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why a reference or a loop gets no hints. The names are those of the missed remarks; docs/explain.md explains them.
#ifndef PAGECAST_COMPILER_REFUSALS_H
#define PAGECAST_COMPILER_REFUSALS_H

#include "llvm/ADT/StringRef.h"

namespace pagecast {

enum class Refusal {
  None,
  NonAffine,        ///< the address is neither affine nor computable by a slice
  VariantStride,    ///< a stride changes inside the nest
  LoopCarried,      ///< the address depends on what earlier iterations computed
  IndirectDepth,    ///< more loads behind one another than a slice has stages
  UnknownTripCount, ///< the trip count is not known on entry
  TooManyGroups,    ///< the nest has more groups than a site table holds
  SliceTooLarge,    ///< the slices of the nest need more operations or registers than there are
  NotStripMinable,  ///< the loop can be counted, but not split into strips, and has no loop around it
  AddressFromCall,  ///< a call in the loop around says where an iteration goes
  HiddenByCall,     ///< a function that is called here touches memory that is not seen from here
};

llvm::StringRef nameOf(Refusal Why);
llvm::StringRef explain(Refusal Why);

} // namespace pagecast

#endif
