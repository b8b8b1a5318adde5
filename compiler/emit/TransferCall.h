// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that are a nest by themselves (Transfers.h) are many in some programs, most of them of a few bytes. Each only gets
// a compare with the gate, and a call of one of two functions of the runtime that do what is done for large ones:
//
//     if (n < gate[1]) memcpy(to, from, n);  else __pagecast_copy(to, from, n, nest);
//
// All that the nest needs is among what is passed. It is passed in the same registers as to memcpy.
#ifndef PAGECAST_COMPILER_TRANSFERCALL_H
#define PAGECAST_COMPILER_TRANSFERCALL_H

#include "llvm/IR/Module.h"

namespace pagecast {

/// __pagecast_copy and __pagecast_fill (pagecast/abi.h).
llvm::FunctionCallee copyFunction(llvm::Module &);
llvm::FunctionCallee fillFunction(llvm::Module &);

} // namespace pagecast

#endif
