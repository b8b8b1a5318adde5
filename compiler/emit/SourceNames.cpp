// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "emit/SourceNames.h"
#include "loops/Majors.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <tuple>

using namespace llvm;

namespace pagecast {
namespace {

/// A variable that has a value, and what speaks against its name: the least is the best.
struct Variable {
  const DILocalVariable *Is = nullptr;
  unsigned Depth = ~0u; ///< calls that were inlined between it and the function that it is in now
  bool Hidden = false;  ///< the reference is not in the block that declares it
  bool Changes = false; ///< it has other values, too: `w` of a width that shrinks, beside the row's length that it was at first
  bool operator<(const Variable &Other) const {
    return std::tuple(Depth, Hidden, Changes, line()) < std::tuple(Other.Depth, Other.Hidden, Other.Changes, Other.line());
  }
  unsigned line() const { return Is ? Is->getLine() : ~0u; }
};

unsigned depthOf(const DebugLoc &Where) {
  unsigned Depth = 0;
  for (const DILocation *At = Where.get(); At && (At = At->getInlinedAt());) ++Depth;
  return Depth;
}

bool declares(const DILocalVariable *Variable, const DILocation *At) {
  for (; At; At = At->getInlinedAt())
    for (const DIScope *Scope = At->getScope(); Scope; Scope = Scope->getScope())
      if (Scope == Variable->getScope()) return true;
  return false;
}

/// Those of the variables that have other values than `V`, too.
SmallPtrSet<const DILocalVariable *, 4> changing(const Value *V, ArrayRef<Variable> Of, llvm::Function &F) {
  SmallPtrSet<const DILocalVariable *, 4> Changing;
  eachOfVariables(F, [&](const auto *User) {
    const bool IsOther = User->getNumVariableLocationOps() != 1 || User->getVariableLocationOp(0) != V;
    if (!User->isKillLocation() && IsOther && any_of(Of, [&](const Variable &O) { return O.Is == User->getVariable(); }))
      Changing.insert(User->getVariable());
  });
  return Changing;
}

/// The best of those that have the value, for who reads `Where`.
Variable variableOf(Value *V, const DebugLoc &Where) {
  SmallVector<Variable, 4> Known;
  llvm::Function *In = nullptr;
  eachVariable(V, [&](auto *User) {
    const DILocalVariable *Is = User->getVariable();
    Known.push_back({Is, depthOf(User->getDebugLoc()), Where && !declares(Is, Where.get()), false});
    In = User->getFunction();
  });
  if (Known.size() > 1) {
    const auto Changing = changing(V, Known, *In);
    for (Variable &One : Known) One.Changes = Changing.contains(One.Is);
  }
  return Known.empty() ? Variable() : *std::min_element(Known.begin(), Known.end());
}

/// What the module calls the value, or the global that it was loaded from.
StringRef nameInModule(const Value *V) {
  if (isa<GlobalVariable>(V)) return V->getName();
  const auto *Load = dyn_cast<LoadInst>(V);
  return Load && isa<GlobalVariable>(Load->getPointerOperand()) ? Load->getPointerOperand()->getName() : "";
}

std::string nameOf(Value *V, const DebugLoc &Where) {
  const Variable Known = variableOf(V, Where);
  const StringRef Global = nameInModule(V);
  if (Known.Is && (Known.Depth == 0 || Global.empty())) return Known.Is->getName().str();
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
  return Base ? nameOf(Base->getValue(), G.where()) : "";
}

std::string sourceText(const SCEV *S, const DebugLoc &Where) {
  std::string Text;
  raw_string_ostream(Text) << *S;
  SmallVector<const SCEV *, 8> Work{S};
  while (!Work.empty()) {
    const SCEV *Part = Work.pop_back_val();
    const auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    if (!Unknown) append_range(Work, Part->operands());
    else if (std::string Name = nameOf(Unknown->getValue(), Where); !Name.empty())
      replaceName(Text, printed(Unknown->getValue()), Name);
  }
  return Text;
}

} // namespace pagecast
