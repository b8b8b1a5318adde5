// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that are a nest by themselves (Transfers.h) are many in some programs, most of them of a few bytes. Each only gets
// a compare with the gate, and a call of one of two functions of the module that do what is done for large ones:
//
//     if (n < gate[1]) memcpy(to, from, n);  else .pagecast.copy(nest, to, from, n, words of the nest...);
#ifndef PAGECAST_COMPILER_TRANSFERCALL_H
#define PAGECAST_COMPILER_TRANSFERCALL_H

#include "llvm/IR/Module.h"

namespace pagecast {

/// Words that these functions pass on.
constexpr unsigned TransferWords = 3;

/// Declares void .pagecast.copy(nest, to, from, bytes, words) and void .pagecast.fill(nest, to, value, bytes, words).
llvm::FunctionCallee copyFunction(llvm::Module &);
llvm::FunctionCallee fillFunction(llvm::Module &);

/// Defines those that are used.
void defineTransferFunctions(llvm::Module &);

} // namespace pagecast

#endif
