// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms: indirect groups whose slice fits in a table, target + scale * value + offset for one index
// load (pagecast_form in pagecast/abi.h). The runtime runs them: no code in the program.
#ifndef PAGECAST_COMPILER_FORMS_H
#define PAGECAST_COMPILER_FORMS_H

#include "Nests.h"

namespace pagecast {

struct Form {
  unsigned Group, IndexGroup, Width;
  bool IsSigned;
  int64_t IndexOffset, Scale, Offset;
};

/// One form per indirect group of `N`, or none when some group does not fit.
llvm::SmallVector<Form, 4> formsOf(const Nest &N, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
