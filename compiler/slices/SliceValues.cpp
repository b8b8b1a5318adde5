// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: construction of values, from expressions of scalar evolution and from the instructions that it does not know.

#include "loops/Control.h"
#include "slices/Operations.h"
#include "slices/SliceBuilder.h"
#include "loops/TripCounts.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"

#include <algorithm>

using namespace llvm;

namespace pagecast {
namespace {

bool hasThreadLocal(const Constant *C) {
  if (const auto *G = dyn_cast<GlobalValue>(C)) return G->isThreadLocal();
  return any_of(C->operands(), [](const Use &U) {
    const auto *Operand = dyn_cast<Constant>(U);
    return Operand && hasThreadLocal(Operand);
  });
}

bool isRotation(const IntrinsicInst *I) {
  return I->getIntrinsicID() == Intrinsic::fshl || I->getIntrinsicID() == Intrinsic::fshr;
}

} // namespace

std::optional<Operand> SliceBuilder::value(const SCEV *S) {
  if (auto Found = Known.find(S); Found != Known.end()) return Found->second;
  std::optional<Operand> V = compute(S);
  Known[S] = V;
  return V;
}

std::optional<Operand> SliceBuilder::compute(const SCEV *S) {
  if (isa<SCEVCouldNotCompute>(S) || !isSliceType(S->getType()) || Ops.size() > 2 * PAGECAST_MAX_OPS)
    return refuse(Refusal::NonAffine);
  if (SE.isLoopInvariant(S, X.Chain.front()))
    if (std::optional<Operand> Given = live(S)) return Given;
  unsigned Width = widthOf(S->getType());
  switch (S->getSCEVType()) {
  case scAddRecExpr: return recurrence(cast<SCEVAddRecExpr>(S), Width);
  case scAddExpr:
  case scMulExpr:
  case scUMaxExpr:
  case scUMinExpr:
  case scSequentialUMinExpr:
  case scSMaxExpr:
  case scSMinExpr: return fold(*operationOf(S->getSCEVType()), cast<SCEVNAryExpr>(S), Width);
  case scUDivExpr: return binary(PAGECAST_OP_UDIV, cast<SCEVUDivExpr>(S)->getLHS(), cast<SCEVUDivExpr>(S)->getRHS(), Width);
  case scZeroExtend:
  case scPtrToInt: return value(cast<SCEVCastExpr>(S)->getOperand());
  case scTruncate:
  case scSignExtend: return convert(cast<SCEVCastExpr>(S), Width);
  case scUnknown: return unknown(cast<SCEVUnknown>(S)->getValue());
  default: return refuse(Refusal::NonAffine);
  }
}

std::optional<Operand> SliceBuilder::convert(const SCEVCastExpr *S, unsigned Width) {
  std::optional<Operand> From = value(S->getOperand());
  if (!From) return std::nullopt;
  if (isa<SCEVTruncateExpr>(S)) return operation(PAGECAST_OP_TRUNC, Width, *From);
  return operation(PAGECAST_OP_SEXT, Width, *From, {}, {}, widthOf(S->getOperand()->getType()));
}

std::optional<Operand> SliceBuilder::binary(unsigned Code, const SCEV *L, const SCEV *R, unsigned Width) {
  std::optional<Operand> A = value(L), B = A ? value(R) : std::nullopt;
  if (!B) return std::nullopt;
  return operation(Code, Width, *A, *B);
}

/// Outer operands first, so that what is fixed in inner loops is computed outside them.
std::optional<Operand> SliceBuilder::fold(unsigned Code, const SCEVNAryExpr *S, unsigned Width) {
  SmallVector<Operand, 4> Parts;
  for (const SCEV *Part : S->operands()) {
    std::optional<Operand> V = value(Part);
    if (!V) return std::nullopt;
    Parts.push_back(*V);
  }
  stable_sort(Parts, [&](const Operand &L, const Operand &R) { return level(L.Node) < level(R.Node); });
  Operand Sum = Parts.front();
  for (const Operand &Part : drop_begin(Parts)) Sum = operation(Code, Width, Sum, Part);
  return Sum;
}

std::optional<Operand> SliceBuilder::iteration(const Loop *L) {
  Counted = true;
  const auto *Level = find(X.Chain, L);
  if (Level != X.Chain.end() && L != X.Chain.back()) return Operand{Operand::Outer, unsigned(Level - X.Chain.begin()), 0, 0};
  if (!X.Chain.back()->contains(L)) return refuse(Refusal::NonAffine);
  int Node = nodeOf(const_cast<Loop *>(L));
  if (Node < 0) return std::nullopt;
  return Operand{Operand::Iteration, 0, Node, 0};
}

/// {start, +, step}, or with a step that itself grows evenly: rows of triangles.
std::optional<Operand> SliceBuilder::recurrence(const SCEVAddRecExpr *S, unsigned Width) {
  if (X.S.contains(S->getLoop()) && !X.S.traces(S->getLoop())) return value(S->getStart());
  if (S->getNumOperands() > 3) return refuse(Refusal::NonAffine);
  std::optional<Operand> I = iteration(S->getLoop()), Start = value(S->getStart()), Step = value(S->getOperand(1));
  if (!I || !Start || !Step) return std::nullopt;
  Operand Sum = operation(PAGECAST_OP_MADD, Width, *I, *Step, *Start);
  if (S->isAffine()) return Sum;
  std::optional<Operand> Growth = value(S->getOperand(2));
  if (!Growth) return std::nullopt;
  Operand Before = operation(PAGECAST_OP_SUB, 64, *I, constant(1));
  Operand Pairs = operation(PAGECAST_OP_LSHR, 64, operation(PAGECAST_OP_MUL, 64, *I, Before), constant(1));
  return operation(PAGECAST_OP_MADD, Width, Pairs, *Growth, Sum);
}

std::optional<Operand> SliceBuilder::unknown(Value *V) {
  if (auto Found = KnownValues.find(V); Found != KnownValues.end()) return Found->second;
  if (auto *C = dyn_cast<Constant>(V); C && hasThreadLocal(C)) // the machine runs on another thread
    return refuse(Refusal::NonAffine);
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !X.Chain.front()->contains(I)) return refuse(Refusal::NonAffine); // fixed, but not to be had on entry
  // What is inside a search may be what it carries: that is known first.
  if (const Loop *L = X.S.tracedAt(I); L && (!X.Chain.back()->contains(L) || nodeOf(const_cast<Loop *>(L)) < 0))
    return refuse(Refusal::LoopCarried);
  if (auto Found = KnownValues.find(V); Found != KnownValues.end()) return Found->second;
  if (auto *Phi = dyn_cast<PHINode>(I); Phi && Searches.concerns(Phi)) {
    std::optional<Operand> Carried = Searches.value(Phi);
    return Carried ? Carried : refuse(Refusal::LoopCarried);
  }
  if (!Open.insert(V).second) return refuse(Refusal::LoopCarried);
  std::optional<Operand> Result = instruction(I);
  Open.erase(V);
  if (auto Found = KnownValues.find(V); Found != KnownValues.end()) return Found->second; // it was on the way round
  KnownValues[V] = Result;
  return Result;
}

/// Scalar evolution has an expression for most values, an unknown for the rest.
std::optional<Operand> SliceBuilder::valueOf(Value *V) {
  if (!isSliceType(V->getType())) return refuse(Refusal::NonAffine);
  if (auto *C = dyn_cast<Constant>(V); C && hasThreadLocal(C)) return refuse(Refusal::NonAffine);
  return isNumber(V->getType()) ? number(V) : value(X.Speculated.scev(V));
}

std::optional<Operand> SliceBuilder::load(LoadInst *I) {
  unsigned Width = widthOf(I->getType());
  if (!I->isSimple() || (Width != 8 && Width != 16 && Width != 32 && Width != 64)) return refuse(Refusal::NonAffine);
  if (const Kept *K = X.Speculated.kept(I)) return kept(I, *K);
  std::optional<Operand> Address = valueOf(I->getPointerOperand());
  if (!Address) return std::nullopt;
  if (Program.searchOf(Address->Node) >= 0)
    if (int Node = nodeOf(X.LI.getLoopFor(I->getParent())); Node >= 0) *Address = Searches.leave(*Address, Node);
  if (Program.searchAround(Address->Node) >= 0) // where a search does not come, it does not load
    return operation(PAGECAST_OP_LOAD, Width, *Address, {}, predicate(I->getParent(), X.LI.getLoopFor(I->getParent())));
  if (Address->Depth == 0 && !is_contained(Index, I)) Index.push_back(I);
  return operation(PAGECAST_OP_LOAD, Width, *Address);
}

/// What the iteration before has loaded, row[j + 1] as the next row[j]: it is loaded again.
std::optional<Operand> SliceBuilder::earlierLoad(PHINode *Phi) {
  Loop *L = X.LI.getLoopFor(Phi->getParent());
  auto *Load = dyn_cast<LoadInst>(Phi->getIncomingValueForBlock(L->getLoopLatch()));
  unsigned Width = widthOf(Phi->getType());
  if (!Load || !Load->isSimple() || X.LI.getLoopFor(Load->getParent()) != L || Width % 8 || Width & (Width - 1))
    return refuse(Refusal::LoopCarried);
  const auto *Address = dyn_cast<SCEVAddRecExpr>(X.Speculated.scev(Load->getPointerOperand()));
  if (!Address || Address->getLoop() != L || !Address->isAffine()) return refuse(Refusal::LoopCarried);
  std::optional<Operand> Before = value(
      SE.getMinusSCEV(Address, SE.getTruncateOrSignExtend(Address->getStepRecurrence(SE), Type::getInt64Ty(SE.getContext()))));
  if (!Before) return std::nullopt;
  if (Before->Depth == 0 && !is_contained(Index, Load)) Index.push_back(Load);
  return operation(PAGECAST_OP_LOAD, Width, *Before);
}

/// What is at a place that each iteration stores to.
std::optional<Operand> SliceBuilder::kept(LoadInst *I, const Kept &K) {
  if (X.DT.dominates(K.Store, I)) return valueOf(K.Store->getValueOperand());
  CarriedStart Start{K.Before.lookup(X.Chain.front()), {}};
  if (!Start.First) return refuse(Refusal::LoopCarried);
  for (Loop *L = X.LI.getLoopFor(I->getParent()); L != X.Chain.front()->getParentLoop(); L = L->getParentLoop())
    Start.Of.push_back(L);
  return carried(I, Start, K.Store->getValueOperand());
}

/// What the iteration before has computed, as the state of a random generator, or a rolling hash.
std::optional<Operand> SliceBuilder::carried(PHINode *Phi) {
  Loop *L = X.LI.getLoopFor(Phi->getParent());
  return carried(Phi, startOf(Phi, X.Chain.front(), X.LI), Phi->getIncomingValueForBlock(L->getLoopLatch()));
}

/// `I`, which is `Next` of the iteration before.
std::optional<Operand> SliceBuilder::carried(Instruction *I, const CarriedStart &Start, Value *Next) {
  Loop *L = X.LI.getLoopFor(I->getParent());
  if (CannotCarry.contains(I) || !X.Chain.back()->contains(L)) return refuse(Refusal::LoopCarried);
  int Node = nodeOf(L);
  if (Node < 0 || Program.searchOf(Node) >= 0) return refuse(Refusal::LoopCarried);
  std::optional<Operand> First = valueOf(Start.First);
  std::optional<Operand> Anew = First ? isFirst(Start.Of) : std::nullopt;
  if (!Anew) return refuse(Refusal::LoopCarried);
  // What it hands on may need loads, which its own loads cannot wait for: their addresses do not depend on it.
  for (unsigned Depth = std::max(First->Depth, Anew->Depth), Last = PAGECAST_MAX_DEPTH;; Last = Depth) {
    Operand Previous = emit({PAGECAST_OP_PREVIOUS, 0, widthOf(I->getType()), 0, *First, {}, *Anew, {}}, Node);
    Ops[Previous.Number].Depth = std::max(Depth, 1u);
    Previous.Depth = Depth;
    KnownValues[I] = Previous;
    Carrying.push_back({I, Previous});
    SmallPtrSet<const Value *, 8> Around; // these may be wanted again on the way round
    std::swap(Open, Around);
    std::optional<Operand> HandedOn = valueOf(Next);
    std::swap(Open, Around);
    Carrying.pop_back();
    if (HandedOn && HandedOn->Is == Operand::Result && HandedOn->Node == Node && HandedOn->Depth <= Depth) {
      Ops[Previous.Number].B = *HandedOn;
      return Previous;
    }
    forget();
    if (!HandedOn || HandedOn->Depth <= Depth || HandedOn->Depth >= Last) break;
    Depth = HandedOn->Depth;
  }
  CannotCarry.insert(I);
  return refuse(Refusal::LoopCarried);
}

/// What was computed from a value that cannot be handed on.
void SliceBuilder::forget() {
  Known.clear();
  KnownValues.clear();
  KnownPredicates.clear();
  for (const auto &[I, Previous] : Carrying) KnownValues[I] = Previous;
}

/// Whether all these loops are in their first iteration.
std::optional<Operand> SliceBuilder::isFirst(ArrayRef<Loop *> Loops) {
  Operand All;
  for (Loop *L : Loops) {
    std::optional<Operand> I = iteration(L);
    if (!I) return std::nullopt;
    Operand First = operation(PAGECAST_OP_EQ, 64, *I, constant(0));
    All = All.Is == Operand::Nothing ? First : operation(PAGECAST_OP_AND, 1, First, All);
  }
  return All;
}

std::optional<Operand> SliceBuilder::phi(PHINode *Phi) {
  if (Value *First = X.S.first(Phi)) return Carrying.empty() ? valueOf(First) : refuse(Refusal::LoopCarried);
  if (Phi->getNumIncomingValues() == 1) // what leaves an inner loop
    return refuse(Refusal::LoopCarried);
  if (X.LI.isLoopHeader(Phi->getParent())) {
    std::optional<Operand> Loaded = earlierLoad(Phi);
    return Loaded ? Loaded : carried(Phi);
  }
  std::optional<Choice> C = choiceOf(Phi, X.DT);
  if (!C) return refuse(Refusal::NonAffine);
  std::optional<Operand> On = valueOf(C->On), Result = On ? valueOf(C->Otherwise) : std::nullopt;
  for (const auto &[Case, V] : C->Cases) {
    std::optional<Operand> Chosen = Result ? valueOf(V) : std::nullopt;
    if (!Chosen) return std::nullopt;
    const unsigned Bits = Case->getBitWidth();
    Operand When = Bits == 1 ? *On : operation(PAGECAST_OP_EQ, Bits, *On, constant(Case->getZExtValue()));
    Result = operation(PAGECAST_OP_SELECT, widthOf(Phi->getType()), When, *Chosen, *Result);
  }
  return Result;
}

/// The place of a walk over a chunked list: the chunk in the table, and the element in the chunk.
std::optional<Operand> SliceBuilder::chunked(const ChunkedListStart &W) {
  std::optional<Operand> I = iteration(W.L), From = value(SE.getUnknown(W.Offset));
  std::optional<Operand> Table = From ? value(SE.getUnknown(W.Chunk)) : std::nullopt;
  if (!I || !Table) return std::nullopt;
  Operand Size = constant(W.Size), Offset = operation(PAGECAST_OP_MADD, 64, *I, constant(W.Step), *From);
  Operand Number = operation(PAGECAST_OP_UDIV, 64, Offset, Size);
  Operand Chunk = operation(PAGECAST_OP_LOAD, 64, operation(PAGECAST_OP_MADD, 64, Number, constant(8), *Table));
  return operation(PAGECAST_OP_ADD, 64, Chunk, operation(PAGECAST_OP_UREM, 64, Offset, Size));
}

std::optional<Operand> SliceBuilder::instruction(Instruction *I) {
  if (const ChunkedListStart *W = X.Speculated.chunked(I)) return chunked(*W);
  if (auto *Load = dyn_cast<LoadInst>(I)) return load(Load);
  if (auto *Phi = dyn_cast<PHINode>(I)) return phi(Phi);
  if (auto *Compare = dyn_cast<ICmpInst>(I)) return compare(Compare);
  if (auto *Call = dyn_cast<IntrinsicInst>(I); Call && isRotation(Call)) return rotation(Call);
  if (isa<SelectInst>(I) || operationOf(*I)) {
    if (!isSliceType(I->getType())) return refuse(Refusal::NonAffine);
    unsigned Width = widthOf(I->getType());
    SmallVector<Operand, 3> Parts;
    for (Value *V : I->operands()) {
      std::optional<Operand> Part = valueOf(V);
      if (!Part) return std::nullopt;
      Parts.push_back(*Part);
    }
    if (isa<SelectInst>(I)) return operation(PAGECAST_OP_SELECT, Width, Parts[0], Parts[1], Parts[2]);
    return operation(*operationOf(*I), Width, Parts[0], Parts[1]);
  }
  switch (I->getOpcode()) {
  case Instruction::Freeze:
  case Instruction::ZExt:
  case Instruction::PtrToInt:
  case Instruction::IntToPtr: return valueOf(I->getOperand(0));
  default: return numberInstruction(I);
  }
}

std::optional<Operand> SliceBuilder::rotation(IntrinsicInst *I) {
  const bool Left = I->getIntrinsicID() == Intrinsic::fshl;
  if (!isSliceType(I->getType())) return refuse(Refusal::NonAffine);
  const auto *By = dyn_cast<ConstantInt>(I->getArgOperand(2));
  std::optional<Operand> High = By ? valueOf(I->getArgOperand(0)) : std::nullopt;
  std::optional<Operand> Low = High ? valueOf(I->getArgOperand(1)) : std::nullopt;
  if (!Low) return refuse(Refusal::NonAffine);
  unsigned Width = widthOf(I->getType()), Bits = By->getValue().urem(Width);
  if (Bits == 0) return Left ? High : Low;
  Operand Up = operation(PAGECAST_OP_SHL, Width, *High, constant(Left ? Bits : Width - Bits));
  Operand Down = operation(PAGECAST_OP_LSHR, Width, *Low, constant(Left ? Width - Bits : Bits));
  return operation(PAGECAST_OP_OR, Width, Up, Down);
}

std::optional<Operand> SliceBuilder::compare(ICmpInst *I) {
  if (!isSliceType(I->getOperand(0)->getType())) return refuse(Refusal::NonAffine);
  std::optional<Operand> A = valueOf(I->getOperand(0)), B = A ? valueOf(I->getOperand(1)) : std::nullopt;
  if (!B) return std::nullopt;
  unsigned Width = widthOf(I->getOperand(0)->getType());
  auto [Code, Swapped] = comparisonOf(I->getPredicate());
  return Swapped ? operation(Code, Width, *B, *A) : operation(Code, Width, *A, *B);
}

} // namespace pagecast
