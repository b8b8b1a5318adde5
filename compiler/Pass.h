// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes over a function. Both prepare its loops and find its nests; one emits the hints, the other prints what it found.
#ifndef PAGECAST_COMPILER_PASS_H
#define PAGECAST_COMPILER_PASS_H

#include "llvm/IR/PassManager.h"

namespace pagecast {

/// `opt -passes=pagecast`: finds the nests of a function and emits their hints.
class PagecastPass : public llvm::PassInfoMixin<PagecastPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &F, llvm::FunctionAnalysisManager &AM);
};

/// `opt -passes='print<pagecast-nests>'`: prints the nests of a function, and emits nothing.
class NestPrinterPass : public llvm::PassInfoMixin<NestPrinterPass> {
public:
  explicit NestPrinterPass(llvm::raw_ostream &OS) : OS(OS) {}
  llvm::PreservedAnalyses run(llvm::Function &F, llvm::FunctionAnalysisManager &AM);
  static bool isRequired() { return true; }

private:
  llvm::raw_ostream &OS;
};

} // namespace pagecast

#endif
