// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "prepare/BitParts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace pagecast {
namespace {

bool isHighMask(Value *Mask) {
  return match(Mask, m_Neg(m_Value())) || match(Mask, m_Shl(m_AllOnes(), m_Value())) ||
         match(Mask, m_Not(m_Add(m_Value(), m_AllOnes())));
}

bool isLowMask(Value *Mask) {
  Value *Others;
  return match(Mask, m_Add(m_Value(), m_AllOnes())) || (match(Mask, m_Not(m_Value(Others))) && isHighMask(Others));
}

class PartFinder {
public:
  PartFinder(const Loop *L, PHINode *Counter) : L(L) { Parts.Counter = Counter; }

  std::optional<BitParts> run() {
    for (BasicBlock *Block : L->blocks())
      for (Instruction &I : *Block)
        if (auto *Operator = dyn_cast<BinaryOperator>(&I)) look(Operator);
    const bool Both = !Parts.Low.empty() && !(Parts.High.empty() && Parts.Number.empty());
    return Both ? std::optional(std::move(Parts)) : std::nullopt;
  }

private:
  const Loop *L;
  BitParts Parts;
  DenseMap<const Value *, BitSum> Known;
  SmallPtrSet<const Value *, 4> Numbers;

  /// Fixed before the loop, and not for good.
  bool isFixed(Value *V) const { return !isa<Constant>(V) && L->isLoopInvariant(V); }

  void look(BinaryOperator *I) {
    Value *A = I->getOperand(0), *B = I->getOperand(1);
    switch (I->getOpcode()) {
    case Instruction::And:
      if (A != Parts.Counter) std::swap(A, B);
      if (A == Parts.Counter && isFixed(B)) mask(I, B);
      break;
    case Instruction::LShr:
    case Instruction::AShr:
      if (A != Parts.Counter || !isFixed(B)) break;
      Parts.Number.push_back(I);
      Numbers.insert(I);
      break;
    case Instruction::Shl: shift(I, A, B); break;
    case Instruction::Or:
    case Instruction::Xor: join(I, A, B); break;
    default: break;
    }
  }

  void mask(BinaryOperator *I, Value *Mask) {
    const bool High = isHighMask(Mask);
    if (!High && !isLowMask(Mask)) return;
    (High ? Parts.High : Parts.Low).push_back(I);
    (High ? Known[I].High : Known[I].Low) = true;
  }

  void shift(BinaryOperator *I, Value *A, Value *Amount) {
    if (Numbers.contains(A) && isFixed(Amount)) {
      Parts.Shifted.push_back(I);
      Known[I] = {true, Amount};
      return;
    }
    const auto *By = dyn_cast<ConstantInt>(Amount);
    auto Sum = Known.find(A);
    if (!By || Sum == Known.end() || Sum->second.Low || Sum->second.Partner || By->uge(I->getType()->getIntegerBitWidth()))
      return;
    BitSum Further = Sum->second;
    Further.Left += By->getZExtValue();
    Known[I] = Further;
  }

  void join(BinaryOperator *I, Value *A, Value *B) {
    if (!Known.count(A)) std::swap(A, B);
    auto First = Known.find(A);
    if (First == Known.end()) return;
    BitSum Sum = First->second, Other;
    if (auto Second = Known.find(B); Second != Known.end()) Other = Second->second;
    else if (L->isLoopInvariant(B) && !isa<Constant>(B)) Other.Partner = B;
    else return;
    if ((Sum.High && Other.High) || (Sum.Low && Other.Low) || (Sum.Partner && Other.Partner)) return;
    if (Other.High) Sum.High = true, Sum.Amount = Other.Amount, Sum.Left = Other.Left;
    Sum.Low |= Other.Low;
    if (Other.Partner) Sum.Partner = Other.Partner;
    Known[I] = Sum;
    Parts.Joined.push_back({I, Sum});
  }
};

} // namespace

std::optional<BitParts> bitPartsOf(const Loop *L, PHINode *Counter) { return PartFinder(L, Counter).run(); }

} // namespace pagecast
