// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests: growing chains of loops outwards.

#include "nests/Nests.h"
#include "nests/AddressCalls.h"
#include "nests/Classify.h"
#include "loops/Control.h"
#include "nests/TickPlacement.h"
#include "nests/Stores.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"

#include <algorithm>

using namespace llvm;

namespace pagecast {
namespace {

class NestFinder {
public:
  NestFinder(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, SpeculatedValues &Speculated, const Transfers &T,
             NeedsChecks Checks)
      : LI(LI), DT(DT), SE(SE), Speculated(Speculated), T(T), Checks(Checks), Counts(F, LI, SE, Speculated),
        Refs(F, LI, DT, SE, Speculated, Counts) {}

  NestList run(OfLoops Where) {
    for (Loop *L : LI.getLoopsInPreorder())
      if ((!Where || Where(*L)) && !Refs.folds(L) && all_of(*L, [&](Loop *Inner) { return Refs.folds(Inner); })) visit(L);
    refuseSearches();
    return std::move(Result);
  }

private:
  LoopInfo &LI;
  DominatorTree &DT;
  ScalarEvolution &SE;
  SpeculatedValues &Speculated;
  const Transfers &T;
  NeedsChecks Checks;
  TripCounts Counts;
  Classifier Refs;
  DenseSet<const Loop *> Done;               ///< what is inside belongs to the slice of a nest
  DenseSet<const Loop *> Sliced;             ///< innermost chain loops of nests with slices through inner loops
  DenseSet<const CallBase *> Hidden;         ///< calls that there is a remark about
  NestList Result;
  /// References of nests so far: what several chains share belongs to the first.
  DenseMap<std::pair<const Instruction *, const Value *>, const Loop *> Claimed;

  void refuse(Refusal Why, const Instruction *At, std::string Detail = "") {
    const Loop *L = LI.getLoopFor(At->getParent());
    Result.Refusals.push_back({Why, At->getDebugLoc(), const_cast<BasicBlock *>(At->getParent()), std::move(Detail),
                               L ? L->getOutermostLoop()->getStartLoc() : DebugLoc()});
  }

  void refuse(Refusal Why, Loop *L) {
    Result.Refusals.push_back({Why, L->getStartLoc(), L->getHeader(), "", L->getOutermostLoop()->getStartLoc()});
  }

  /// Searches that nothing is hinted in.
  void refuseSearches() {
    DenseSet<const Loop *> Hinted;
    for (const Nest &N : Result.Nests)
      for (const Group &G : N.Groups)
        for (const Instruction *I : G.Members) Hinted.insert(LI.getLoopFor(I->getParent()));
    for (Loop *L : LI.getLoopsInPreorder())
      if (Refs.searches().contains(L) && !Hinted.count(L)) refuse(Refusal::UnknownTripCount, L);
  }

  static bool hinted(const Classified &C) { return C.Is == Classified::Direct || C.Is == Classified::Indirect; }

  /// Whether what the inner loops go over moves on with the iterations of the outermost one.
  static bool advances(const Classified &C) {
    return C.Is == Classified::Direct && !C.Form.Stride.front()->isZero() &&
           any_of(drop_begin(C.Form.Stride), [](const SCEV *S) { return !S->isZero(); });
  }

  /// Whether a reference that was hinted still is, and as well: one touch for each element is no match for strides, nor
  /// where a search begins for what it has found. One for all that an inner loop goes over is.
  static bool keeps(const Classified &Old, const Classified &New) {
    if (hinted(Old) && New.Searched && !Old.Searched) return false;
    if (Old.Is == Classified::Direct)
      return New.Is == Classified::Direct || New.Is == Classified::Ignored ||
             (New.Is == Classified::Indirect && (New.Target.Step || New.Bytes > New.Ref.Size));
    return Old.Is != Classified::Indirect || hinted(New);
  }

  /// The references that are not hinted as well as before.
  static SmallVector<const Classified *, 4> lost(ArrayRef<Classified> Before, ArrayRef<Classified> After) {
    SmallVector<const Classified *, 4> Lost;
    for (const Classified &Old : Before)
      for (const Classified &New : After)
        if (New.Ref.At == Old.Ref.At && New.Ref.Pointer == Old.Ref.Pointer && !keeps(Old, New)) Lost.push_back(&Old);
    return Lost;
  }

  /// Whether its base is from a call in `Parent`: nobody can say where the next iteration's will be.
  static bool isResult(const Classified &C, const Loop *Parent) {
    return C.Is == Classified::Direct && SCEVExprContains(C.Form.Base, [&](const SCEV *S) {
             const auto *Unknown = dyn_cast<SCEVUnknown>(S);
             const auto *Call = Unknown ? dyn_cast<CallBase>(Unknown->getValue()) : nullptr;
             return Call && Parent->contains(Call);
           });
  }

  /// The trip count of the loop around the nest, if the nest may have one.
  const SCEV *parentCount(const Nest &N) {
    Loop *Parent = N.root()->getParentLoop();
    if (!Parent || N.Loops.size() == PAGECAST_MAX_LOOPS) return nullptr;
    return Refs.count(Parent);
  }

  /// The nest one loop further out, if nothing is lost by it. A parent with several sub-loops is
  /// taken only where the inner loops are pieces (rows, planes) of a larger sweep. Where each of them
  /// goes over the same data again, as in the time steps of a simulation, they stay nests of their
  /// own: their cursors must not run ahead into the next time step while their siblings work.
  bool climb(Nest &N, SmallVectorImpl<Classified> &References) {
    const SCEV *Count = parentCount(N);
    if (!Count) return false;
    Loop *Parent = N.root()->getParentLoop();
    if (!all_of(N.Backedges, [&](const SCEV *Inner) { return Refs.available(Inner, Parent); })) return false;
    Chain Candidate{Parent};
    append_range(Candidate, N.Loops);
    SmallVector<Classified, 16> All = Refs.classify(Candidate, N.Sliced);
    auto Lost = lost(References, All);
    if (!Lost.empty() && (!all_of(Lost, [&](const Classified *C) { return isResult(*C, Parent); }) || none_of(All, advances)))
      return false;
    if (count_if(*Parent, [&](Loop *L) { return !Refs.folds(L); }) > 1 && !any_of(All, advances)) return false;
    N.Loops = std::move(Candidate);
    N.Backedges.insert(N.Backedges.begin(), Count);
    References.assign(All.begin(), All.end());
    return true;
  }

  /// Whether the iterations of the loop around the nest differ in more than their place: in trip counts or bases.
  bool differs(const Nest &N, ArrayRef<Classified> References, Loop *Parent) {
    return !all_of(N.Backedges, [&](const SCEV *Inner) { return Refs.available(Inner, Parent); }) ||
           any_of(References, [&](const Classified &C) {
             return C.Is == Classified::Direct && !Refs.available(C.Form.Base, Parent) && !affineForm(C.Form.Base, {Parent}, SE);
           });
  }

  /// Rows: a nest that begins with the loop around `N`, whose iterations differ. A slice goes through all that is
  /// inside.
  std::optional<Nest> slice(const Nest &N, ArrayRef<Classified> Before, SmallVectorImpl<Classified> &References) {
    const SCEV *Count = N.Loops.size() <= 3 ? parentCount(N) : nullptr;
    Loop *Parent = N.root()->getParentLoop();
    if (!Count || !differs(N, Before, Parent)) return std::nullopt;
    SmallVector<Classified, 16> All = Refs.classify({Parent}, true);
    // Where each iteration goes over the same data from the start, its inner loops are sweeps, not rows: also those that
    // gather by an index of their own, as the elements of a mesh do in each time step. What cannot be counted has no nest else.
    // Where some of them have loops inside, such a sweep is one whatever another loop beside it goes over: a step of the slice would
    // be all of it.
    const bool Rows = onlyRows(Parent);
    auto MovesOn = [&](const Classified &C) {
      if (C.Is != Classified::Indirect || SE.isLoopInvariant(C.Target.Address, Parent)) return false;
      if (!Rows && !N.root()->contains(C.Ref.At)) return false;
      return N.Backedges.empty() || Speculated.movesWith(C.Target.Address, Parent);
    };
    if (!lost(Before, All).empty() || none_of(All, MovesOn)) return std::nullopt;
    References.assign(All.begin(), All.end());
    Nest Outer;
    Outer.Loops = {Parent};
    Outer.Backedges = {Count};
    Outer.Sliced = true;
    return Outer;
  }

  /// Whether the loops inside are loops of elements.
  bool onlyRows(Loop *Outer) {
    return all_of(*Outer, [&](Loop *Row) { return Refs.folds(Row) || all_of(*Row, [&](Loop *L) { return Refs.folds(L); }); });
  }

  /// Whether rows are places of their own (vectors of vectors, diagonals of a matrix, each with its bounds), of which few may
  /// be all there is; and not pieces of one sequence, or of one array as a triangle is.
  bool areApart(const Nest &Row, ArrayRef<Classified> References, Loop *Parent) {
    auto IsLoaded = [&](const SCEV *S) { return hasLoaded(S, Parent); };
    return any_of(References, [&](const Classified &C) {
      if (C.Is != Classified::Direct) return false;
      if (!SE.isLoopInvariant(SE.getPointerBase(C.Form.Base), Parent)) return true;
      return SCEVExprContains(C.Form.Base, [&](const SCEV *S) { return movesBySymbol(S, Parent); }) &&
             (IsLoaded(C.Form.Base) || any_of(Row.Backedges, IsLoaded));
    });
  }

  /// Whether the slice of a nest around this one hints the reference.
  bool slicedAround(const Classified &C, const Nest &N) const {
    const Loop *By = Claimed.lookup({C.Ref.At, C.Ref.Pointer});
    return By && By != N.root() && By->contains(N.root());
  }

  /// Whether another nest hints the reference. A slice around a nest that claims nothing does not count: there are nests
  /// of several of its loops, and it claims for itself after the first of them.
  bool claimed(const Classified &C, const Nest &N, bool Claims) const {
    return Claimed.count({C.Ref.At, C.Ref.Pointer}) && (Claims || !slicedAround(C, N));
  }

  void visit(Loop *L) {
    if (any_of(Done, [&](const Loop *Outer) { return Outer->contains(L); })) return;
    if (!any_of(referencesIn(L, LI, [&](const Loop *Inner) { return Inner && L->contains(Inner); }),
                [&](const Reference &R) { return !L->isLoopInvariant(R.Pointer); }))
      return;
    Nest N;
    N.Loops.push_back(L);
    SmallVector<Classified, 16> References;
    if (const SCEV *Count = Refs.count(L)) {
      N.Backedges.push_back(Count);
      References = Refs.classify(N.Loops, false);
      while (climb(N, References));
    }
    SmallVector<Classified, 16> All;
    std::optional<Nest> Outer = slice(N, References, All);
    if (!Outer) {
      if (N.Backedges.empty()) return refuse(Refusal::UnknownTripCount, L);
      return finish(N, References, none_of(References, [&](const Classified &C) { return slicedAround(C, N); }));
    }
    // An iteration of the outer loop may be too much at a time where rows have several loops, or nobody knows how long they
    // are. There are nests of those as well.
    Outer->Apart = areApart(N, References, Outer->root());
    if (onlyRows(Outer->root()) && !Outer->Apart) Done.insert(Outer->root());
    else if (!N.Backedges.empty()) finish(N, References, /*Claims=*/false);
    while (climb(*Outer, All));
    if (!Sliced.insert(Outer->Loops.back()).second) return;
    finish(*Outer, All);
  }

  /// The slice of the nest; groups that it has no space for go.
  void sliceGroups(Nest &N) {
    for (;;) {
      SmallVector<std::pair<unsigned, SliceTarget>, 8> Targets;
      for (unsigned G = 0; G < N.Groups.size(); ++G)
        if (N.Groups[G].indirect()) Targets.push_back({G, N.Groups[G].Target});
      auto Live = [&](const SCEV *S) { return Refs.live(S, N.root()); };
      SmallVector<unsigned, 4> Left;
      N.Code = buildSlice(Targets, {N.Loops, LI, DT, SE, Speculated, Refs.searches(), Live}, Left);
      if (Left.empty()) return;
      llvm::sort(Left);
      for (unsigned G : reverse(Left)) {
        refuse(Refusal::SliceTooLarge, N.Groups[G].Leading);
        N.Groups.erase(N.Groups.begin() + G);
      }
    }
  }

  /// A function of the C library that is given numbers alone, such as log: it sets errno at most.
  static bool computesOnly(const CallBase &Call) {
    const Function *Callee = Call.getCalledFunction();
    return Callee && Callee->isDeclaration() && Call.onlyWritesMemory() &&
           none_of(Call.args(), [](const Value *V) { return V->getType()->isPointerTy(); });
  }

  /// What functions touch besides is not known here.
  void refuseCalls(const Nest &N) {
    for (Loop *L : N.Loops)
      for (BasicBlock *Block : L->blocks())
        for (Instruction &I : *Block) {
          auto *Call = dyn_cast<CallBase>(&I);
          if (!Call || LI.getLoopFor(Block) != L || isa<IntrinsicInst>(Call) || Call->isInlineAsm() ||
              Call->doesNotAccessMemory() || computesOnly(*Call) || !Hidden.insert(Call).second)
            continue;
          const Function *Callee = Call->getCalledFunction();
          refuse(Refusal::HiddenByCall, Call, Callee ? Callee->getName().str() : "");
        }
  }

  /// The calls that keep the loop around from being part of the nest.
  void refuseAddressCalls(const Nest &N) {
    const Loop *Around = N.root()->getParentLoop();
    for (const Group &G : N.Groups) {
      const CallBase *Call = Around && !G.indirect() ? callBehind(G.Form.Base, Around, N.root()) : nullptr;
      if (!Call || !Hidden.insert(Call).second) continue;
      const Function *Callee = Call->getCalledFunction();
      refuse(Refusal::AddressFromCall, Call, Callee ? Callee->getName().str() : "");
    }
  }

  /// Whether the nest is compiled for a case that does not arise with large data: loops are compiled once more for
  /// lengths of 0 or 1 or so. There others of their loops have no end, and rows are next to each other.
  bool isSpecialCase(const Nest &N, ArrayRef<Classified> References) {
    constexpr uint64_t MostTrips = uint64_t(1) << 48, ShortRow = 64;
    auto GuardedRange = [&](const SCEV *S, unsigned K) { return SE.getUnsignedRange(SE.applyLoopGuards(S, N.Loops[K])); };
    for (unsigned K = 0; K < N.Loops.size(); ++K) {
      if (GuardedRange(N.Backedges[K], K).getUnsignedMin().uge(MostTrips)) return true;
      for (const Classified &C : References)
        if (C.Is == Classified::Direct && !constantOf(C.Form.Stride[K]) &&
            GuardedRange(C.Form.Stride[K], K).getUnsignedMax().ult(ShortRow))
          return true;
    }
    return false;
  }

  /// Whether a nest with searches in it is worth its code. Where they begin next to each other, as where elements are
  /// inserted in order, faults foretell as much.
  static bool pays(const Nest &N, ArrayRef<Classified> References) {
    return N.hasIndirect() || (!N.Groups.empty() &&
                               none_of(References, [](const Classified &C) { return C.Is == Classified::Direct && C.Searched; }));
  }

  /// The condition under which the innermost loop, which stands for memmove, may run in strips, as far as that is known before
  /// the nest.
  std::optional<Upwards> upwards(const Nest &N) {
    if (!T.isMove(N.Loops.back())) return std::nullopt;
    const Upwards U = T.upwards(N.Loops.back());
    if (!Refs.available(U.Distance, N.root()) || !Refs.available(U.Bytes, N.root())) return std::nullopt;
    return U;
  }

  /// SpeculatedValues trip counts are for climbing: where the nest ends up, the program may have the count itself.
  void preferExact(Nest &N) {
    for (unsigned K = 0; K < N.Loops.size(); ++K)
      if (const SCEV *Count = Counts.exact(N.Loops[K]); Count && Refs.available(Count, N.root())) N.Backedges[K] = Count;
  }

  /// The same of addresses: in for (record..) { read(&r); for (i..n) sum += a[r.row * n + i]; } the inner loop has the row of this
  /// record, and what was loaded before the outer one is of none.
  void takeExact(Nest &N) {
    for (Group &G : N.Groups) {
      if (G.indirect()) continue;
      G.Form.Base = Speculated.exact(G.Form.Base, N.root());
      for (const SCEV *&Stride : G.Form.Stride) Stride = Speculated.exact(Stride, N.root());
    }
    for (const SCEV *&Live : N.Code.Live) Live = Speculated.exact(Live, N.root());
  }

  void finish(Nest &N, SmallVectorImpl<Classified> &References, bool Claims = true) {
    preferExact(N);
    if (isSpecialCase(N, References)) return;
    const Stores Own(N.Loops.back(), LI, DT, SE);
    erase_if(References, [&](const Classified &C) {
      return claimed(C, N, Claims) || (hinted(C) && Own.precede(C.Ref.At, C.Ref.Pointer, C.Ref.Size));
    });
    SmallVector<Instruction *, 4> Overflow;
    N.Groups = groupsOf(References, SE, DT, Overflow);
    if (!N.Groups.empty() && !N.Sliced && isSmall(N)) return;
    if (Refs.searches().anyIn(N.Loops.back()) && !pays(N, References)) return;
    for (const Classified &C : References)
      if (C.Is == Classified::Refused && !C.Ref.Passed && !C.Searched) refuse(C.Why, C.Ref.At);
    refuseCalls(N);
    refuseAddressCalls(N);
    for (Instruction *I : Overflow) refuse(Refusal::TooManyGroups, I);
    sliceGroups(N);
    if (N.Groups.empty()) return;
    const bool Innermost = Counts.isExact(N.Loops.back(), N.Backedges.back());
    unsigned Exact = 0;
    while (Exact < N.Loops.size() && Counts.isExact(N.Loops[Exact], N.Backedges[Exact])) ++Exact;
    N.Exact = Exact == N.Loops.size() && !Refs.searches().anyIn(N.Loops.back()); // who knows whether they end
    takeExact(N);
    const std::optional<Upwards> Up = upwards(N);
    const bool Whole = T.isMove(N.Loops.back()) && !Up;
    const TickContext X{SE, DT, Checks, Innermost, /*InPlanes=*/!Claims, onlyRows(N.Loops.back()), N.Apart, Whole};
    if (!chooseTicked(N, X)) return refuse(Refusal::NotStripMinable, N.root());
    if (N.Strips) N.Up = Up;
    N.Closes = endsByItself(N, Exact, DT);
    N.Bytes = bytesPerIteration(N, X);
    for (const Classified &C : References)
      if (Claims) Claimed.insert({{C.Ref.At, C.Ref.Pointer}, N.Sliced ? N.Loops.back() : nullptr});
    Result.Nests.push_back(std::move(N));
  }
};

} // namespace

NestList findNests(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, SpeculatedValues &Speculated,
                   const Transfers &T, NeedsChecks Checks, OfLoops Where) {
  return NestFinder(F, LI, DT, SE, Speculated, T, Checks).run(Where);
}

} // namespace pagecast
