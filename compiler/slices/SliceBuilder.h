// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice while it is being built. Every value belongs to the innermost loop in which it varies, its node; its operation
// stands there, once, whoever needs it. Targets, nodes and conditions are in Slice.cpp; values in SliceValues.cpp.
#ifndef PAGECAST_COMPILER_SLICEBUILDER_H
#define PAGECAST_COMPILER_SLICEBUILDER_H

#include "slices/Carried.h"
#include "slices/SliceSearch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IntrinsicInst.h"

namespace pagecast {

class SliceBuilder : public SliceValues {
public:
  explicit SliceBuilder(const SliceContext &X) : X(X), SE(X.SE), Searches(X, Program, *this) { nodeOf(X.Chain.back()); }

  Refusal add(unsigned Group, const SliceTarget &T);
  Slice finish();
  llvm::ArrayRef<llvm::LoadInst *> index() const { return Index; }
  /// Whether the address of the first target depends on an iteration number.
  bool moves() const { return Moves; }

private:
  const SliceContext &X;
  llvm::ScalarEvolution &SE;
  SliceProgram Program;
  llvm::SmallVectorImpl<PendingOp> &Ops = Program.Ops;
  llvm::SmallVectorImpl<LoopNode> &Nodes = Program.Nodes;
  SliceSearches Searches;
  llvm::SmallVector<const llvm::SCEV *, 8> LiveValues;
  llvm::SmallVector<llvm::LoadInst *, 4> Index;
  llvm::DenseMap<const llvm::SCEV *, std::optional<Operand>> Known;
  llvm::DenseMap<const llvm::Value *, std::optional<Operand>> KnownValues;
  llvm::DenseMap<const llvm::BasicBlock *, Operand> KnownPredicates;
  llvm::SmallPtrSet<const llvm::Value *, 8> Open; ///< being computed: meeting one again is a cycle
  Refusal Why = Refusal::NonAffine;
  llvm::SmallPtrSet<const llvm::Instruction *, 4> CannotCarry;
  llvm::SmallVector<std::pair<const llvm::Instruction *, Operand>, 4>
      Carrying; ///< of which it is not known yet what they hand on
  bool Counted = false; ///< an iteration number was wanted
  bool Moves = false;
  bool Astray = false; ///< a value of one inner loop was wanted in another

  // Slice.cpp
  /// Whether what varies in `Inner` may use what varies in `Outer`.
  bool encloses(int Outer, int Inner) const { return Program.encloses(Outer, Inner); }

  int placeOf(const PendingOp &Op, int Node) const;
  std::nullopt_t refuse(Refusal Reason);
  int nodeOf(llvm::Loop *L) override;
  std::optional<Operand> tripsOf(llvm::Loop *L);
  Operand emit(PendingOp Op, int At = -1);
  int level(int Node) const;
  Operand operation(unsigned Code, unsigned Width, Operand A, Operand B = {}, Operand C = {}, unsigned Extra = 0,
                    int At = -1) override {
    return emit({Code, 0, Width, Extra, A, B, C, {}}, At);
  }

  std::optional<Operand> attempt(llvm::Value *V) override;
  Operand predicate(llvm::BasicBlock *Block, llvm::Loop *Within) override;
  std::optional<Operand> live(const llvm::SCEV *S);
  Operand constant(uint64_t V) override { return *live(SE.getConstant(llvm::Type::getInt64Ty(SE.getContext()), V)); }

  // SliceValues.cpp
  std::optional<Operand> value(const llvm::SCEV *S);
  std::optional<Operand> compute(const llvm::SCEV *S);
  std::optional<Operand> convert(const llvm::SCEVCastExpr *S, unsigned Width);
  std::optional<Operand> binary(unsigned Code, const llvm::SCEV *L, const llvm::SCEV *R, unsigned Width);
  std::optional<Operand> fold(unsigned Code, const llvm::SCEVNAryExpr *S, unsigned Width);
  std::optional<Operand> iteration(const llvm::Loop *L);
  std::optional<Operand> recurrence(const llvm::SCEVAddRecExpr *S, unsigned Width);
  std::optional<Operand> unknown(llvm::Value *V);
  std::optional<Operand> valueOf(llvm::Value *V);
  std::optional<Operand> load(llvm::LoadInst *I);
  std::optional<Operand> earlierLoad(llvm::PHINode *Phi);
  std::optional<Operand> kept(llvm::LoadInst *I, const Kept &K);
  std::optional<Operand> carried(llvm::PHINode *Phi);
  std::optional<Operand> carried(llvm::Instruction *I, const CarriedStart &Start, llvm::Value *Next);
  std::optional<Operand> chunked(const ChunkedListStart &W);
  void forget();
  std::optional<Operand> isFirst(llvm::ArrayRef<llvm::Loop *> Loops);
  std::optional<Operand> phi(llvm::PHINode *Phi);
  std::optional<Operand> instruction(llvm::Instruction *I);
  std::optional<Operand> rotation(llvm::IntrinsicInst *I);
  std::optional<Operand> compare(llvm::ICmpInst *I);

  // SliceNumbers.cpp
  std::optional<Operand> number(llvm::Value *V);
  std::optional<Operand> numberInstruction(llvm::Instruction *I);
  std::optional<Operand> numberCompare(llvm::FCmpInst *I);
  std::optional<Operand> numberFunction(llvm::CallBase *I);
  std::optional<Operand> sign(llvm::Value *Of, llvm::Instruction *I, unsigned Code);
};

} // namespace pagecast

#endif
