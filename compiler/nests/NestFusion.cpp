// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nest fusion: which nests, and how.

#include "nests/NestFusion.h"
#include "pagecast/abi.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// Loops of so many iterations more or less are taken for as long as each other: stencils leave out the ends.
constexpr int64_t SimilarTrips = 16;

bool compares(const Nest &N) {
  return any_of(N.Groups, [](const Group &G) { return G.Flags & PAGECAST_COMPARED; });
}

/// Whether the nest is one of ticks and strides only. What slices run through is their own, and a nest with
/// guards is entered on its own conditions. What is compared lies along loops that are not to be mistaken for the nest's.
bool isPlain(const Nest &N) { return !N.Strips && !N.Sliced && N.Code.empty() && N.Guards.empty() && !compares(N); }

bool canFuse(const Nest &A, const Nest &B) {
  return isPlain(A) && isPlain(B) && A.Ticked == B.Ticked &&
         ArrayRef(A.Loops).take_front(A.Ticked + 1) == ArrayRef(B.Loops).take_front(B.Ticked + 1) &&
         A.Groups.size() + B.Groups.size() <= PAGECAST_MAX_GROUPS;
}

bool overwrites(const Nest &N) {
  return any_of(N.Groups, [](const Group &G) { return G.Flags & PAGECAST_OVERWRITES; });
}

/// Two nests on the way to being one.
class Union {
public:
  Union(Nest &A, Nest &B, ScalarEvolution &SE) : A(A), B(B), SE(SE), Loops(A.Loops), Backedges(A.Backedges) {}

  /// Adds `B` to `A`. False, with nothing done, if there is no space, or the one walks otherwise over what the other
  /// uses as well: which of them is through with it is only seen where they are apart.
  bool run() {
    for (unsigned K = 0; K < B.Loops.size(); ++K) Places.push_back(placeOf(K));
    if (Loops.size() > PAGECAST_MAX_LOOPS) return false;
    SmallVector<SmallVector<const SCEV *, 8>, 8> Strides;
    for (const Group &G : B.Groups) {
      Strides.push_back(stridesOf(G));
      if (any_of(A.Groups, [&](const Group &Other) { return isOtherWalk(Other, G, Strides.back()); })) return false;
    }
    A.Beside += Loops.size() - A.Loops.size();
    for (Group &G : A.Groups) G.Form.Stride.resize(Loops.size(), SE.getZero(Type::getInt64Ty(SE.getContext())));
    for (unsigned I = 0; I < B.Groups.size(); ++I) {
      B.Groups[I].Form.Stride = std::move(Strides[I]);
      add(B.Groups[I]);
    }
    A.Loops = std::move(Loops);
    A.Backedges = std::move(Backedges);
    A.Bytes = std::max(A.Bytes, B.Bytes);
    return true;
  }

private:
  Nest &A, &B;
  ScalarEvolution &SE;
  Chain Loops; ///< of the union, with their trip counts
  SmallVector<const SCEV *, 8> Backedges;
  SmallVector<unsigned, 8> Places; ///< of the loops of `B` in it

  /// What is overwritten must be so to the byte: there only loops of the same length are one.
  unsigned placeOf(unsigned K) {
    if (K <= A.Ticked) return K;
    bool Exactly = overwrites(A) || overwrites(B);
    for (unsigned Place = A.Ticked + 1; Place < A.Loops.size(); ++Place) {
      std::optional<int64_t> More = constantDifference(Backedges[Place], B.Backedges[K], SE);
      if (!More || std::abs(*More) > (Exactly ? 0 : SimilarTrips) || is_contained(Places, Place)) continue;
      if (*More > 0) {
        Loops[Place] = B.Loops[K];
        Backedges[Place] = B.Backedges[K];
      }
      return Place;
    }
    Loops.push_back(B.Loops[K]);
    Backedges.push_back(B.Backedges[K]);
    return Loops.size() - 1;
  }

  SmallVector<const SCEV *, 8> stridesOf(const Group &G) {
    SmallVector<const SCEV *, 8> Strides(Loops.size(), SE.getZero(Type::getInt64Ty(SE.getContext())));
    for (unsigned K = 0; K < Places.size(); ++K) Strides[Places[K]] = G.Form.Stride[K];
    return Strides;
  }

  /// Whether the two go over the same array, but not in the same steps.
  bool isOtherWalk(const Group &Other, const Group &G, ArrayRef<const SCEV *> Strides) {
    if (SE.getPointerBase(Other.Form.Base) != SE.getPointerBase(G.Form.Base)) return false;
    ArrayRef<const SCEV *> Before = Other.Form.Stride;
    return Before != Strides.take_front(Before.size()) ||
           any_of(Strides.drop_front(Before.size()), [](const SCEV *S) { return !S->isZero(); });
  }

  /// Adds `G` to the group that touches the same already, if there is one.
  void add(Group &G) {
    for (Group &Other : A.Groups) {
      std::optional<int64_t> Offset = constantDifference(Other.Form.Base, G.Form.Base, SE);
      if (!Offset || Other.Form.Stride != G.Form.Stride || ((Other.Flags | G.Flags) & PAGECAST_OVERWRITES) ||
          std::max(Other.Hi, *Offset + G.Hi) - std::min(Other.Lo, *Offset + G.Lo) > GroupReach)
        continue;
      return Other.absorb(G, *Offset);
    }
    A.Groups.push_back(std::move(G));
  }
};

} // namespace

void fuseNests(std::vector<Nest> &Nests, ScalarEvolution &SE) {
  std::vector<Nest> Fused;
  for (Nest &N : Nests)
    if (none_of(Fused, [&](Nest &Before) { return canFuse(Before, N) && Union(Before, N, SE).run(); }))
      Fused.push_back(std::move(N));
  Nests = std::move(Fused);
}

} // namespace pagecast
