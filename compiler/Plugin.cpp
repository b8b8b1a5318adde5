// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plugin: where the passes stand in the pipeline, and their names for opt.
//
//     clang -O2 -fpass-plugin=pagecast-llvm19.so
//     opt -load-pass-plugin pagecast-llvm19.so -passes='pagecast,pagecast-module'

#include "Pass.h"
#include "emit/Module.h"

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"

using namespace llvm;
using namespace pagecast;

namespace {

// The pipeline rotates loops again right after this point; exit tests belong in the latch before it.
void addNestPasses(FunctionPassManager &Passes, OptimizationLevel Level) {
  Passes.addPass(createFunctionToLoopPassAdaptor(LoopRotatePass(Level != OptimizationLevel::Oz)));
  Passes.addPass(PagecastPass());
}

bool parseFunctionPass(StringRef Name, FunctionPassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
  if (Name == "pagecast") Passes.addPass(PagecastPass());
  else if (Name == "print<pagecast-nests>") Passes.addPass(NestPrinterPass(errs()));
  else return false;
  return true;
}

bool parseModulePass(StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
  if (Name != "pagecast-module") return false;
  Passes.addPass(PagecastModulePass());
  return true;
}

void registerPasses(PassBuilder &Builder) {
  Builder.registerVectorizerStartEPCallback(addNestPasses);
  Builder.registerOptimizerLastEPCallback(
      [](ModulePassManager &Passes, OptimizationLevel) { Passes.addPass(PagecastModulePass()); });
  Builder.registerPipelineParsingCallback(parseFunctionPass);
  Builder.registerPipelineParsingCallback(parseModulePass);
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "pagecast", LLVM_VERSION_STRING, registerPasses};
}
