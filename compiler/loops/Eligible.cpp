// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eligible functions: what excludes one.

#include "loops/Eligible.h"
#include "loops/Majors.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace pagecast {

/// __attribute__((annotate("nopagecast")))
static bool isAnnotated(const Function &F) {
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

bool isEligible(const Function &F) {
  if (F.isDeclaration() || F.hasOptNone() || F.hasFnAttribute(Attribute::Naked) || F.isPresplitCoroutine() ||
      F.hasFnAttribute("nopagecast") || F.callsFunctionThatReturnsTwice())
    return false;
  if (F.getParent()->getDataLayout().getPointerSizeInBits(0) != 64) return false;
  if (F.hasPersonalityFn() && isScopedEHPersonality(classifyEHPersonality(F.getPersonalityFn()))) return false;
  return !isAnnotated(F);
}

} // namespace pagecast
