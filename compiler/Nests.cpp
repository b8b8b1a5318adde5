// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests: growing chains of loops outwards, and choosing the ticked loop.

#include "Nests.h"
#include "StripMine.h"
#include "Version.h"
#include "pagecast/abi.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/EHPersonalities.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <algorithm>
#include <cstdlib>

using namespace llvm;

namespace pagecast {
namespace {

/// A step should move by about a page: constant inner loops that move less are not ticked.
constexpr uint64_t StepBytes = 4096;
/// Nests that cannot touch more than this get no code at all.
constexpr uint64_t SmallNestBytes = BlockBytes;

uint64_t saturatingMultiply(uint64_t A, uint64_t B) {
  uint64_t Product;
  return __builtin_mul_overflow(A, B, &Product) ? ~uint64_t(0) : Product;
}

std::optional<uint64_t> constantTrips(const SCEV *Backedges) {
  std::optional<int64_t> Last = constantOf(Backedges);
  if (!Last || *Last < 0)
    return std::nullopt;
  return uint64_t(*Last) + 1;
}

/// Divisions by what may be zero cannot be computed early. Where the program has the quotient already,
/// that is taken; else the divisor becomes umax(it, 1), which is the same wherever the program divides.
class SafeDivisions : public SCEVRewriteVisitor<SafeDivisions> {
public:
  SafeDivisions(ScalarEvolution &SE, const DenseMap<const SCEV *, Value *> &Quotients)
      : SCEVRewriteVisitor(SE), Quotients(Quotients) {}

  const SCEV *visitUDivExpr(const SCEVUDivExpr *S) {
    const SCEV *Divisor = S->getRHS();
    if (SE.isKnownNonZero(Divisor))
      return S;
    if (Value *Known = Quotients.lookup(S))
      return SE.getUnknown(Known);
    Divisor = SE.getUMaxExpr(visit(Divisor), SE.getOne(Divisor->getType()));
    return SE.getUDivExpr(visit(S->getLHS()), Divisor);
  }

private:
  const DenseMap<const SCEV *, Value *> &Quotients;
};

class NestFinder {
public:
  NestFinder(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE)
      : LI(LI), DT(DT), SE(SE), Expander(SE, F.getParent()->getDataLayout(), "pagecast") {
    for (Instruction &I : instructions(F))
      if (I.getOpcode() == Instruction::UDiv && SE.isSCEVable(I.getType()))
        Quotients.try_emplace(SE.getSCEV(&I), &I);
  }

  NestList run() {
    for (Loop *L : LI.getLoopsInPreorder())
      if (L->isInnermost())
        visit(L);
    return std::move(Result);
  }

private:
  LoopInfo &LI;
  DominatorTree &DT;
  ScalarEvolution &SE;
  SCEVExpander Expander;
  DenseMap<const SCEV *, Value *> Quotients; ///< the first of each in the function
  NestList Result;
  /// References of nests so far: what several chains share belongs to the first.
  DenseSet<std::pair<const Instruction *, const Value *>> Claimed;

  void refuse(Refusal Why, const Instruction *At, std::string Detail = "") {
    Result.Refusals.push_back({Why, At->getDebugLoc(), const_cast<BasicBlock *>(At->getParent()), std::move(Detail)});
  }

  void refuse(Refusal Why, Loop *L) { Result.Refusals.push_back({Why, L->getStartLoc(), L->getHeader(), ""}); }

  /// Trip count - 1 per entry to `L`, if known there. Exact when the latch is the exit.
  const SCEV *backedges(Loop *L) {
    if (!L->isLoopSimplifyForm())
      return nullptr;
    const SCEV *Count = L->isLoopExiting(L->getLoopLatch()) ? SE.getExitCount(L, L->getLoopLatch())
                                                            : SE.getBackedgeTakenCount(L);
    if (isa<SCEVCouldNotCompute>(Count) || !Count->getType()->isIntegerTy() ||
        SE.getTypeSizeInBits(Count->getType()) > 64)
      return nullptr;
    return defined(Count);
  }

  const SCEV *defined(const SCEV *S) { return SafeDivisions(SE, Quotients).visit(S); }

  /// Whether `S` can be computed before `Root`.
  bool available(const SCEV *S, Loop *Root) {
    return SE.isLoopInvariant(S, Root) && Expander.isSafeToExpandAt(S, Root->getLoopPreheader()->getTerminator());
  }

  bool available(const AffineForm &Form, Loop *Root) {
    return available(Form.Base, Root) && all_of(Form.Stride, [&](const SCEV *S) { return available(S, Root); });
  }

  Classified classify(const Reference &Ref, ArrayRef<Loop *> Loops) {
    Classified C;
    C.Ref = Ref;
    C.Conditional = !runsEachIteration(Ref.At->getParent(), LI, DT);
    AffineFailure Failure;
    if (std::optional<AffineForm> Form = affineForm(SE.getSCEV(Ref.Pointer), Loops, SE, &Failure)) {
      if (Form->invariant())
        return C;
      Form->Base = defined(Form->Base);
      for (const SCEV *&Stride : Form->Stride)
        Stride = defined(Stride);
      C.Is = available(*Form, Loops.front()) ? Classified::Direct : Classified::Refused;
      C.Why = C.Is == Classified::Direct ? Refusal::None : Refusal::NonAffine;
      C.Form = std::move(*Form);
      return C;
    }
    C.Why = Failure == AffineFailure::VariantStride ? Refusal::VariantStride : Refusal::NonAffine;
    Refusal Why = Refusal::None;
    std::optional<IndirectAddress> Tree = recognise(Ref.Pointer, Loops, LI, DT, SE, Why);
    if (Tree && slicable(*Tree, Loops)) {
      C.Is = Classified::Indirect;
      C.Tree = std::move(*Tree);
      C.Why = Refusal::None;
      return C;
    }
    C.Is = Classified::Refused;
    if (Why != Refusal::None && C.Why == Refusal::NonAffine)
      C.Why = Why;
    return C;
  }

  /// Everything that the slice gets from the program can be computed before the root.
  bool slicable(const IndirectAddress &Tree, ArrayRef<Loop *> Loops) {
    if (!available(Tree.Target, Loops.front()))
      return false;
    SmallVector<Value *, 16> Work{Tree.Address};
    while (!Work.empty()) {
      Value *V = Work.pop_back_val();
      Node N = classifyNode(V, Loops, LI, DT, SE);
      if ((N.Is == Node::Affine || N.Is == Node::Index) && !available(N.Form, Loops.front()))
        return false;
      if (N.Is == Node::Operation)
        append_range(Work, cast<Instruction>(V)->operands());
    }
    return true;
  }

  SmallVector<Classified, 16> classifyAll(ArrayRef<Loop *> Loops) {
    SmallVector<Classified, 16> All;
    for (const Reference &Ref : referencesIn(Loops, LI))
      All.push_back(classify(Ref, Loops));
    return All;
  }

  static bool hinted(const Classified &C) { return C.Is == Classified::Direct || C.Is == Classified::Indirect; }

  /// Whether what the inner loops go over moves on with the iterations of the outermost one.
  static bool advances(const Classified &C) {
    return C.Is == Classified::Direct && !C.Form.Stride.front()->isZero() &&
           any_of(drop_begin(C.Form.Stride), [](const SCEV *S) { return !S->isZero(); });
  }

  /// The nest one loop further out, if nothing is lost by it. A parent with several sub-loops is
  /// taken only where the inner loops are pieces (rows, planes) of a larger sweep. Where each of them
  /// goes over the same data again, as in the time steps of a simulation, they stay nests of their
  /// own: their cursors must not run ahead into the next time step while their siblings work.
  bool climb(Nest &N, SmallVectorImpl<Classified> &References) {
    Loop *Parent = N.root()->getParentLoop();
    if (!Parent || N.Loops.size() == PAGECAST_MAX_LOOPS)
      return false;
    const SCEV *Count = backedges(Parent);
    if (!Count || !available(Count, Parent))
      return false;
    if (!all_of(N.Backedges, [&](const SCEV *Inner) { return available(Inner, Parent); }))
      return false;
    Chain Candidate{Parent};
    append_range(Candidate, N.Loops);
    SmallVector<Classified, 16> All = classifyAll(Candidate);
    for (const Classified &Old : References)
      if (hinted(Old))
        for (const Classified &New : All)
          if (New.Ref.At == Old.Ref.At && New.Ref.Pointer == Old.Ref.Pointer && !hinted(New))
            return false;
    if (Parent->getSubLoops().size() > 1 && !any_of(All, advances))
      return false;
    N.Loops = std::move(Candidate);
    N.Backedges.insert(N.Backedges.begin(), Count);
    References.assign(All.begin(), All.end());
    return true;
  }

  void visit(Loop *L) {
    if (!any_of(referencesIn(L, LI), [&](const Reference &R) { return !L->isLoopInvariant(R.Pointer); }))
      return;
    const SCEV *Count = backedges(L);
    if (!Count || !available(Count, L))
      return refuse(Refusal::UnknownTripCount, L);
    Nest N;
    N.Loops.push_back(L);
    N.Backedges.push_back(Count);
    SmallVector<Classified, 16> References = classifyAll(N.Loops);
    while (climb(N, References))
      ;
    finish(N, References);
  }

  void finish(Nest &N, SmallVectorImpl<Classified> &References) {
    erase_if(References, [&](const Classified &C) { return Claimed.count({C.Ref.At, C.Ref.Pointer}); });
    SmallVector<Instruction *, 4> Overflow;
    N.Groups = groupsOf(References, SE, Overflow);
    if (!N.Groups.empty() && isSmall(N))
      return;
    for (const Classified &C : References)
      if (C.Is == Classified::Refused)
        refuse(C.Why, C.Ref.At);
    for (Instruction *I : Overflow)
      refuse(Refusal::TooManyGroups, I);
    if (N.Groups.empty())
      return;
    if (!chooseTicked(N))
      return refuse(Refusal::NotStripMinable, N.root());
    N.Bytes = bytesPerIteration(N);
    for (const Classified &C : References)
      Claimed.insert({C.Ref.At, C.Ref.Pointer});
    Result.Nests.push_back(std::move(N));
  }

  /// Nests whose whole footprint is a small constant. An indirect access may touch a page each.
  bool isSmall(const Nest &N) {
    uint64_t Iterations = 1;
    for (const SCEV *Count : N.Backedges) {
      std::optional<uint64_t> Trips = constantTrips(Count);
      if (!Trips)
        return false;
      Iterations = saturatingMultiply(Iterations, *Trips);
    }
    uint64_t Total = 0;
    for (const Group &G : N.Groups) {
      uint64_t Bytes = G.indirect() ? saturatingMultiply(Iterations, StepBytes) : uint64_t(G.Hi - G.Lo);
      for (unsigned K = 0; K < G.Form.Stride.size(); ++K) {
        std::optional<int64_t> Stride = constantOf(G.Form.Stride[K]);
        if (!Stride)
          return false;
        Bytes += saturatingMultiply(std::abs(*Stride), *constantTrips(N.Backedges[K]) - 1);
      }
      if (Bytes >= SmallNestBytes)
        return false;
      Total += Bytes;
    }
    return Total < SmallNestBytes;
  }

  /// True when all of loop `K` is known to move by less than a page.
  bool movesLittle(const Nest &N, unsigned K) {
    std::optional<uint64_t> Trips = constantTrips(N.Backedges[K]);
    if (!Trips)
      return false;
    uint64_t Step = 0;
    for (const Group &G : N.Groups) {
      if (G.indirect())
        continue;
      std::optional<int64_t> Stride = constantOf(G.Form.Stride[K]);
      if (!Stride)
        return false;
      Step = std::max<uint64_t>(Step, std::abs(*Stride));
    }
    return saturatingMultiply(*Trips, Step) < StepBytes;
  }

  bool chooseTicked(Nest &N) {
    unsigned Innermost = N.Loops.size() - 1;
    N.Ticked = Innermost;
    while (N.Ticked > 0 && movesLittle(N, N.Ticked))
      --N.Ticked;
    if (N.Ticked == Innermost && canStripMine(N.Loops[Innermost]) && canVersion(N.Loops[Innermost])) {
      N.Strips = true;
      return true;
    }
    if (N.Ticked == Innermost && N.Ticked == 0)
      return false;
    N.Ticked = std::min(N.Ticked, Innermost - 1);
    return true;
  }

  // The largest element, or the stride where whole elements are skipped; a page when every stride
  // is a symbol; a cache line for an indirect access. It is only for the gate: on entry
  // the runtime computes the footprint of each group.
  uint64_t bytesPerIteration(const Nest &N) {
    uint64_t Bytes = 1;
    for (const Group &G : N.Groups) {
      Bytes = std::max(Bytes, G.Element);
      if (G.indirect()) {
        Bytes = std::max<uint64_t>(Bytes, 64);
        continue;
      }
      uint64_t Smallest = StepBytes;
      for (const SCEV *Stride : G.Form.Stride)
        if (std::optional<int64_t> Value = constantOf(Stride))
          Smallest = std::min<uint64_t>(Smallest, std::abs(*Value));
      Bytes = std::max(Bytes, Smallest);
    }
    return Bytes;
  }
};

/// __attribute__((annotate("nopagecast")))
bool isAnnotated(const Function &F) {
  const GlobalVariable *Table = F.getParent()->getNamedGlobal("llvm.global.annotations");
  if (!Table || !Table->hasInitializer())
    return false;
  const auto *Entries = dyn_cast<ConstantArray>(Table->getInitializer());
  if (!Entries)
    return false;
  for (const Use &Entry : Entries->operands()) {
    const auto *Fields = dyn_cast<ConstantStruct>(Entry);
    if (!Fields || Fields->getOperand(0)->stripPointerCasts() != &F)
      continue;
    const auto *Text = dyn_cast<GlobalVariable>(Fields->getOperand(1)->stripPointerCasts());
    if (!Text || !Text->hasInitializer())
      continue;
    const auto *Bytes = dyn_cast<ConstantDataSequential>(Text->getInitializer());
    if (Bytes && Bytes->isCString() && Bytes->getAsCString() == "nopagecast")
      return true;
  }
  return false;
}

} // namespace

unsigned Nest::indirectGroups() const {
  return count_if(Groups, [](const Group &G) { return G.indirect(); });
}

bool isEligible(const Function &F) {
  if (F.isDeclaration() || F.hasOptNone() || F.hasFnAttribute(Attribute::Naked) || F.isPresplitCoroutine() ||
      F.hasFnAttribute("nopagecast") || F.callsFunctionThatReturnsTwice())
    return false;
  if (F.getParent()->getDataLayout().getPointerSizeInBits(0) != 64)
    return false;
  if (F.hasPersonalityFn() && isScopedEHPersonality(classifyEHPersonality(F.getPersonalityFn())))
    return false;
  return !isAnnotated(F);
}

NestList findNests(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) {
  return NestFinder(F, LI, DT, SE).run();
}

} // namespace pagecast
