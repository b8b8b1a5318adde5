// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passed words: the choice.

#include "emit/PassedWords.h"
#include "loops/Affine.h"
#include "pagecast/abi.h"
#include "slices/Operations.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"

using namespace llvm;

namespace pagecast {
namespace {

/// Constants of recurrences that are computed with here: products of three of them fit in 64 bits.
constexpr int64_t Most = 1 << 20;

/// first + linear * k + square * k * k in iteration k, if all of it is whole and small.
struct Numbers {
  int64_t First, Linear, Square;
};

std::optional<Numbers> numbersOf(const SCEVAddRecExpr *R) {
  if (R->getNumOperands() > 3 || !R->getType()->isIntegerTy(64)) return std::nullopt;
  int64_t Known[3] = {0, 0, 0};
  for (unsigned K = 0; K < R->getNumOperands(); ++K) {
    std::optional<int64_t> C = constantOf(R->getOperand(K));
    if (!C || *C > Most || *C < -Most) return std::nullopt;
    Known[K] = *C;
  }
  if (Known[2] % 2) return std::nullopt; // k (k - 1) / 2 times it
  return Numbers{Known[0], Known[1] - Known[2] / 2, Known[2] / 2};
}

/// The program may not come to a division, so that it must not be computed before.
bool divides(const SCEV *S) {
  return SCEVExprContains(S, [](const SCEV *Part) { return isa<SCEVUDivExpr>(Part); });
}

} // namespace

bool isKnownToTables(const SCEV *S) {
  const auto *Unknown = dyn_cast<SCEVUnknown>(S);
  if (!Unknown) return isa<SCEVConstant>(S);
  if (isa<ConstantPointerNull>(Unknown->getValue())) return true;
  const auto *G = dyn_cast<GlobalVariable>(Unknown->getValue());
  return G && !G->isThreadLocal() && !G->hasDLLImportStorageClass();
}

void PassedWords::want(const SCEV *S) {
  Wanted.push_back(S);
  lead(S);
}

void PassedWords::lead(const SCEV *S) {
  SmallVector<const SCEV *, 16> Stack{S};
  SmallPtrSet<const SCEV *, 16> Seen;
  while (!Stack.empty()) {
    const SCEV *At = Stack.pop_back_val();
    if (!Seen.insert(At).second) continue;
    append_range(Stack, At->operands());
    const auto *R = dyn_cast<SCEVAddRecExpr>(At);
    if (!R || !R->isAffine()) continue;
    std::optional<Numbers> New = numbersOf(R);
    if (!New) continue;
    const SCEVAddRecExpr *&Now = Leading[R->getLoop()];
    // Of two that go up as fast the first one is taken.
    if (!Now || std::abs(New->Linear) < std::abs(numbersOf(Now)->Linear)) Now = R;
  }
}

std::optional<PassedWords::Polynomial> PassedWords::byAnother(const SCEV *S) const {
  const auto *R = dyn_cast<SCEVAddRecExpr>(S);
  const SCEVAddRecExpr *Of = R ? Leading.lookup(R->getLoop()) : nullptr;
  if (!Of || Of == R) return std::nullopt;
  std::optional<Numbers> Own = numbersOf(R);
  const Numbers By = *numbersOf(Of);
  if (!Own || Own->Square % (By.Linear * By.Linear)) return std::nullopt;
  const int64_t Square = Own->Square / (By.Linear * By.Linear);
  const int64_t Left = Own->Linear - 2 * Square * By.First * By.Linear;
  if (Left % By.Linear) return std::nullopt;
  const int64_t Linear = Left / By.Linear;
  return Polynomial{Of, Own->First - Linear * By.First - Square * By.First * By.First, Linear, Square};
}

unsigned PassedWords::words() const {
  unsigned Words = 0;
  SmallPtrSet<const SCEV *, 32> Seen;
  SmallVector<const SCEV *, 16> Stack(Wanted);
  while (!Stack.empty()) {
    const SCEV *S = Stack.pop_back_val();
    if (!Seen.insert(S).second || isKnownToTables(S)) continue;
    if (std::optional<Polynomial> P = byAnother(S)) Stack.push_back(P->Of);
    else if (!Whole.contains(S) && (operationOf(S->getSCEVType()) || isa<SCEVCastExpr>(S))) append_range(Stack, S->operands());
    else ++Words;
  }
  return Words;
}

void PassedWords::tryWhole(const SCEV *S, unsigned &Best) {
  if (isKnownToTables(S) || !(operationOf(S->getSCEVType()) || isa<SCEVCastExpr>(S)) || !Whole.insert(S).second) return;
  if (unsigned Now = words(); Now < Best) Best = Now;
  else Whole.erase(S);
}

void PassedWords::choose(ArrayRef<const SCEV *> Anyway) {
  unsigned Best = words();
  for (const SCEV *S : Anyway) tryWhole(S, Best);
  // Arithmetic in the program is less code than more words in memory, but not than words in registers.
  if (Best <= PAGECAST_REGISTER_WORDS) return;
  for (const SCEV *S : Wanted)
    if ((S->getType()->isPointerTy() || S->getType()->isIntegerTy(64)) && !divides(S)) tryWhole(S, Best);
}

} // namespace pagecast
