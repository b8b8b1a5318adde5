// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes over a function: the order in which the rooms come to work.

#include "Pass.h"
#include "emit/Emit.h"
#include "emit/Printer.h"
#include "emit/Remarks.h"
#include "loops/Eligible.h"
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
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace pagecast {
namespace {

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
  T.unfoldWhatPays(Checks);
  SpeculatedValues Speculated(LI, DT, SE);
  Speculated.insert();
  NestList List = findNests(F, LI, DT, SE, Speculated, T, Checks);
  Accesses.clear();
  markOverwrites(List.Nests, LI, DT, SE, AA, AM.getResult<TargetLibraryAnalysis>(F));
  emitRemarks(List, AM.getResult<OptimizationRemarkEmitterAnalysis>(F));
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
  T.unfoldWhatPays(NoChecks);
  SpeculatedValues Speculated(LI, DT, SE);
  Speculated.insert();
  NestList List = findNests(F, LI, DT, SE, Speculated, T, NoChecks);
  markOverwrites(List.Nests, LI, DT, SE, AA, AM.getResult<TargetLibraryAnalysis>(F));
  printNests(List, OS);
  T.fold();
  Speculated.removeUnused();
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace pagecast
