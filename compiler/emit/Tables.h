// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables: the constants of pagecast/abi.h as LLVM types and globals.
#ifndef PAGECAST_COMPILER_TABLES_H
#define PAGECAST_COMPILER_TABLES_H

#include "emit/Arguments.h"

#include "llvm/IR/Module.h"

namespace pagecast {

/// Name of the module's gate variable; see pagecast_module.gate.
constexpr char GateName[] = "__pagecast_gate";

/// The gates of the module, created shut (~0) on first use.
llvm::GlobalVariable *gateOf(llvm::Module &M);

/// A private string constant, or null for "".
llvm::Constant *stringConstant(llvm::Module &M, llvm::StringRef Text);

/// The pagecast_nest of `N`. `Root`: pagecast_nest.root.
llvm::GlobalVariable *nestTable(llvm::Module &M, const Nest &N, uint32_t Root, const Arguments &Words);

} // namespace pagecast

#endif
