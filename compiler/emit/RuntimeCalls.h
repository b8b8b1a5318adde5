// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runtime calls: the runtime's entry points (pagecast/abi.h) as functions of the module, and calls of them.
#ifndef PAGECAST_COMPILER_RUNTIMECALLS_H
#define PAGECAST_COMPILER_RUNTIMECALLS_H

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace pagecast {

/// What the entry points preserve.
llvm::CallingConv::ID conventionOf(const llvm::Module &);

/// A function of the runtime. It touches its arguments and memory that the program cannot see, so it hinders nothing around
/// it. It is weak, so that the program links and runs without the runtime.
llvm::FunctionCallee runtimeFunction(llvm::Module &, llvm::StringRef Name, llvm::FunctionType *);

llvm::FunctionCallee nextFunction(llvm::Module &);

/// A call of __pagecast_tick or __pagecast_exit.
llvm::CallInst *callWithTicket(llvm::IRBuilder<> &B, llvm::Module &M, llvm::StringRef Name, llvm::Value *Ticket);

/// Calls __pagecast_enter with up to PAGECAST_REGISTER_WORDS words, or one that is the address of all of them. Its result
/// is {count, ticket}.
llvm::CallInst *callEnter(llvm::IRBuilder<> &, llvm::Module &, llvm::Value *Nest, llvm::ArrayRef<llvm::Value *> Words);

/// __pagecast_copy and __pagecast_fill. Calls that are a nest by themselves (nests/Transfers.h) are many in some programs, most
/// of them of a few bytes. Each only gets a compare with the gate, and a call of one of these for large ones:
///
///     if (n < gate[1]) memcpy(to, from, n);  else __pagecast_copy(to, from, n, nest);
///
/// All that the nest needs is among what is passed. It is passed in the same registers as to memcpy.
llvm::FunctionCallee copyFunction(llvm::Module &);
llvm::FunctionCallee fillFunction(llvm::Module &);

} // namespace pagecast

#endif
