// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes over a function: in which functions they have any business, and the order in which the rooms come to work.

#include "Pass.h"
#include "emit/Emit.h"
#include "emit/Printer.h"
#include "emit/Remarks.h"
#include "loops/Majors.h"
#include "loops/SpeculatedValues.h"
#include "nests/NestFusion.h"
#include "nests/Overwrite.h"
#include "prepare/BitRuns.h"
#include "prepare/InductionRepair.h"
#include "prepare/InvariantLoads.h"
#include "prepare/Worklists.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace pagecast {
namespace {

/// __attribute__((annotate("nopagecast")))
bool isAnnotated(const Function &F) {
  const GlobalVariable *Table = F.getParent()->getNamedGlobal("llvm.global.annotations");
  if (!Table || !Table->hasInitializer()) return false;
  const auto *Entries = dyn_cast<ConstantArray>(Table->getInitializer());
  if (!Entries) return false;
  for (const Use &Entry : Entries->operands()) {
    const auto *Fields = dyn_cast<ConstantStruct>(Entry);
    if (!Fields || Fields->getOperand(0)->stripPointerCasts() != &F) continue;
    const auto *Text = dyn_cast<GlobalVariable>(Fields->getOperand(1)->stripPointerCasts());
    if (!Text || !Text->hasInitializer()) continue;
    const auto *Bytes = dyn_cast<ConstantDataSequential>(Text->getInitializer());
    if (Bytes && Bytes->isCString() && Bytes->getAsCString() == "nopagecast") return true;
  }
  return false;
}

/// Whether the pass may change the function. It may not if that is not optimized, or if its author has excluded it by an
/// attribute or annotation. Nor may it put calls where control flows in ways that have no place for them.
bool isEligible(const Function &F) {
  if (F.isDeclaration() || F.hasOptNone() || F.hasFnAttribute(Attribute::Naked) || F.isPresplitCoroutine() ||
      F.hasFnAttribute("nopagecast") || F.callsFunctionThatReturnsTwice())
    return false;
  if (F.getParent()->getDataLayout().getPointerSizeInBits(0) != 64) return false;
  if (F.hasPersonalityFn() && isScopedEHPersonality(classifyEHPersonality(F.getPersonalityFn()))) return false;
  return !isAnnotated(F);
}

/// Has all loops in simplified and LCSSA form.
bool canonicalize(LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, AssumptionCache &AC) {
  bool Changed = false;
  SmallVector<Loop *, 8> TopLevel(LI.begin(), LI.end());
  for (Loop *L : TopLevel) {
    Changed |= simplifyLoop(L, &DT, &LI, &SE, &AC, nullptr, /*PreserveLCSSA=*/false);
    Changed |= formLCSSARecursively(*L, DT, &LI, &SE);
  }
  return Changed;
}

/// The changes of prepare/, which keep what the program does.
bool prepareLoops(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, AAResults &AA) {
  bool Changed = repairInductions(LI, SE);
  Changed |= hoistInvariantLoads(F, LI, DT, SE, AA);
  Changed |= splitBitRuns(F, LI, DT, SE);
  Changed |= splitWorklists(LI, DT, SE);
  return Changed;
}

} // namespace

PreservedAnalyses PagecastPass::run(Function &F, FunctionAnalysisManager &AM) {
  if (!isEligible(F)) return PreservedAnalyses::all();
  auto &LI = AM.getResult<LoopAnalysis>(F);
  auto &DT = AM.getResult<DominatorTreeAnalysis>(F);
  auto &SE = AM.getResult<ScalarEvolutionAnalysis>(F);
  auto &AC = AM.getResult<AssumptionAnalysis>(F);
  Transfers T(F, LI, DT, SE);
  if (LI.empty() && !T.any()) return PreservedAnalyses::all();
  bool Changed = canonicalize(LI, DT, SE, AC);
  auto &AA = AM.getResult<AAManager>(F);
  Changed |= prepareLoops(F, LI, DT, SE, AA);
  auto &Accesses = AM.getResult<LoopAccessAnalysis>(F);
  auto Checks = [&](Loop &L) { return Accesses.getInfo(L).getRuntimePointerChecking()->Need; };
  Changed |= T.any();
  SpeculatedValues Speculated(LI, DT, SE);
  NestList List = T.unfoldWhatPays(Speculated, Checks);
  Accesses.clear();
  markOverwrites(List.Nests, LI, DT, SE, AA, AM.getResult<TargetLibraryAnalysis>(F));
  emitRemarks(List, T, AM.getResult<OptimizationRemarkEmitterAnalysis>(F));
  fuseNests(List.Nests, SE);
  linkOverwrites(List.Nests);
  const bool Emits = !List.Nests.empty();
  if (Emits) emitHints(F, List.Nests, T, LI, DT, SE);
  Changed |= Emits;
  T.fold();
  if (Emits) canonicalize(LI, DT, SE, AC);
  Changed |= Speculated.removeUnused();
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

PreservedAnalyses NestPrinterPass::run(Function &F, FunctionAnalysisManager &AM) {
  OS << "Pagecast nests of '" << F.getName() << "':\n";
  if (!isEligible(F)) {
    OS << "  not eligible\n";
    return PreservedAnalyses::all();
  }
  auto &LI = AM.getResult<LoopAnalysis>(F);
  auto &DT = AM.getResult<DominatorTreeAnalysis>(F);
  auto &SE = AM.getResult<ScalarEvolutionAnalysis>(F);
  auto &AA = AM.getResult<AAManager>(F);
  bool Changed = prepareLoops(F, LI, DT, SE, AA);
  Transfers T(F, LI, DT, SE);
  auto NoChecks = [](Loop &) { return false; };
  Changed |= T.any();
  SpeculatedValues Speculated(LI, DT, SE);
  NestList List = T.unfoldWhatPays(Speculated, NoChecks);
  markOverwrites(List.Nests, LI, DT, SE, AA, AM.getResult<TargetLibraryAnalysis>(F));
  printNests(List, OS);
  T.fold();
  Speculated.removeUnused();
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace pagecast
