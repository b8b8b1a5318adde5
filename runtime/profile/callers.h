// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which function of the program a call has come from, through whatever libraries: MPI reads on behalf of the program.
#pragma once
#include <cstdint>

namespace pagecast::profile {

/// Once, early: what unwinds the stack may allocate when it is used first.
void prepare_callers();
/// An address in the innermost function of the program itself that has called this; NULL: there is none. Cost: 1 to 3 us.
const void *caller_in_program();

struct InProgram {
  const char *program; ///< its file
  uint64_t offset;     ///< as the file has it
};
InProgram place_of_address(const void *);

} // namespace pagecast::profile
