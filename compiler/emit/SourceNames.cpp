// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "emit/SourceNames.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace pagecast {
namespace {

/// A variable that has a value, and how many calls that were inlined lie between it and the function it is in now.
struct Variable {
  StringRef Name;
  unsigned Depth = ~0u;
};

unsigned depthOf(const DebugLoc &Where) {
  unsigned Depth = 0;
  for (const DILocation *At = Where.get(); At && (At = At->getInlinedAt());) ++Depth;
  return Depth;
}

/// The outermost; of several there the first.
Variable variableOf(Value *V) {
  SmallVector<DbgVariableIntrinsic *, 2> Intrinsics;
  SmallVector<DbgVariableRecord *, 2> Records;
  findDbgUsers(Intrinsics, V, &Records);
  Variable Best;
  const auto Take = [&Best](const auto *User) {
    if (unsigned Depth = depthOf(User->getDebugLoc()); Depth < Best.Depth) Best = {User->getVariable()->getName(), Depth};
  };
  for (const DbgVariableRecord *Record : Records) Take(Record);
  for (const DbgVariableIntrinsic *Intrinsic : Intrinsics) Take(Intrinsic);
  return Best;
}

/// What the module calls the value, or the global that it was loaded from.
StringRef nameInModule(const Value *V) {
  if (isa<GlobalVariable>(V)) return V->getName();
  const auto *Load = dyn_cast<LoadInst>(V);
  return Load && isa<GlobalVariable>(Load->getPointerOperand()) ? Load->getPointerOperand()->getName() : "";
}

std::string nameOf(Value *V) {
  const Variable Known = variableOf(V);
  const StringRef Global = nameInModule(V);
  if (!Known.Name.empty() && (Known.Depth == 0 || Global.empty())) return Known.Name.str();
  if (!Global.empty()) return Global.str();
  return isa<Argument>(V) || isa<AllocaInst>(V) ? V->getName().str() : "";
}

std::string printed(const Value *V) {
  std::string Text;
  raw_string_ostream Out(Text);
  V->printAsOperand(Out, /*PrintType=*/false);
  return Text;
}

/// Puts `To` for each `From` that no other letter of a name follows.
void replaceName(std::string &Text, StringRef From, StringRef To) {
  for (size_t At = Text.find(From); At != std::string::npos; At = Text.find(From, At + To.size())) {
    const size_t End = At + From.size();
    const bool Whole = End == Text.size() || !(isAlnum(Text[End]) || StringRef("._$-").contains(Text[End]));
    if (Whole) Text.replace(At, From.size(), To);
    else Text.replace(At, From.size(), From); // a longer name
  }
}

} // namespace

std::string sourceName(const Group &G) {
  // The pointer inside base + offset.
  const SCEVUnknown *Base = nullptr;
  SmallVector<const SCEV *, 8> Work{G.Form.Base};
  while (!Work.empty() && !Base) {
    const SCEV *S = Work.pop_back_val();
    if (!S->getType()->isPointerTy()) continue;
    if (const auto *Unknown = dyn_cast<SCEVUnknown>(S)) Base = Unknown;
    else append_range(Work, S->operands());
  }
  return Base ? nameOf(Base->getValue()) : "";
}

std::string sourceText(const SCEV *S) {
  std::string Text;
  raw_string_ostream(Text) << *S;
  SmallVector<const SCEV *, 8> Work{S};
  while (!Work.empty()) {
    const SCEV *Part = Work.pop_back_val();
    const auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    if (!Unknown) append_range(Work, Part->operands());
    else if (std::string Name = nameOf(Unknown->getValue()); !Name.empty()) replaceName(Text, printed(Unknown->getValue()), Name);
  }
  return Text;
}

} // namespace pagecast
