// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules: what a translation unit tells the runtime before main: its large globals and its gate.
#ifndef PAGECAST_COMPILER_MODULE_H
#define PAGECAST_COMPILER_MODULE_H

#include "llvm/IR/PassManager.h"

namespace pagecast {

/// `opt -passes=pagecast-module`: adds the constructor, if there is anything to tell.
class PagecastModulePass : public llvm::PassInfoMixin<PagecastModulePass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
  /// Large globals are recorded at -O0 as well.
  static bool isRequired() { return true; }
};

} // namespace pagecast

#endif
