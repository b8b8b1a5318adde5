// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups: the references of a nest, merged where they touch the same pages a few iterations apart.
//
// In   for (i..n) for (j..m) b[i][j] = a[i][j-1] + a[i][j] + a[i][j+1];
// there are two groups: b with [lo, hi) = [0, 8), written, and a with [-8, 16), read, whose leading
// reference is a[i][j+1] since j runs upwards. A reference has, in loop k,
//
//     temporal reuse   stride[k] == 0
//     spatial reuse    0 < |stride[k]| < a cluster
//     neither          a larger constant stride
//     unknown          a symbol
//
// and group reuse with the members at other offsets. Down a column (for (j) for (i) a[i+1][j] - a[i][j]) the members are
// groups of their own: as one they would seem to touch all of the row between them. (Wolf and Lam, PLDI 1991.)
#ifndef PAGECAST_COMPILER_GROUPS_H
#define PAGECAST_COMPILER_GROUPS_H

#include "slices/Slice.h"

namespace pagecast {

/// Constant strides below this have spatial reuse.
constexpr int64_t ClusterBytes = 64 * 1024;
/// What one group touches at a time is at most this from end to end.
constexpr int64_t GroupReach = 4 * ClusterBytes;

/// Members of a group of a column walk are less than this apart: with whole pages between them they are groups of
/// their own, and the core sees which of them comes last. The least page of any machine; a greater one costs groups.
constexpr int64_t PageBytes = 4096;

/// One static access in a nest.
struct Reference {
  llvm::Instruction *At;
  llvm::Value *Pointer;
  uint64_t Size;
  bool Reads;
  bool Writes;
  bool Passed = false; ///< an argument of a call: the function touches something there
};

/// A reference as seen from one chain of loops.
struct Classified {
  enum Kind { Ignored, Direct, Indirect, Refused } Is = Ignored;
  Reference Ref;
  uint64_t Bytes = 0;                        ///< touched at the address: more than Ref.Size where small loops were folded
  AffineForm Form;                           ///< Direct
  SliceTarget Target;                        ///< Indirect
  llvm::SmallVector<llvm::LoadInst *, 2> Index; ///< Indirect: loads that its slice begins with
  Refusal Why = Refusal::None;
  bool Conditional = false;
  bool Searched = false; ///< in a search: as its first iteration has it (Searches.h)
  bool Traced = false; ///< or as far as it goes (SearchTracing.h)
};

struct Group {
  unsigned Flags = 0; ///< PAGECAST_READS and so on
  uint64_t Element = 0;
  int64_t Lo = 0; ///< relative to Form.Base
  int64_t Hi = 0;
  AffineForm Form;      ///< of the first member; indirect: base = the array's if it is fixed in the nest, no strides
  SliceTarget Target;   ///< indirect only: of the first member, that is, at offset 0
  llvm::SmallVector<llvm::LoadInst *, 2> Index; ///< indirect only
  llvm::SmallVector<llvm::Instruction *, 4> Members;
  llvm::Instruction *Leading = nullptr; ///< the first to touch a new page
  int64_t LeadingOffset = 0;
  bool Searched = false; ///< every member is
  bool Traced = false; ///< every member is

  bool indirect() const;
  /// Takes in the members of a group whose addresses are those of this one plus `Offset`, but for its leading reference.
  void absorb(const Group &Other, int64_t Offset);
  /// The place in the source of the leading reference, or of another one where optimizations dropped it.
  llvm::DebugLoc where() const;
};

/// True for storage too small to be paged: tables, scratch arrays.
bool isSmallObject(const llvm::Value *Pointer, const llvm::DataLayout &DL);

/// All references in the blocks that belong to the loops of a chain, in program order; those that cannot
/// matter (volatile, small locals and small globals) are left out. `Belongs` says which loops beside those of
/// the chain count as part of them.
llvm::SmallVector<Reference, 16> referencesIn(llvm::ArrayRef<llvm::Loop *> Loops, const llvm::LoopInfo &LI,
                                              llvm::function_ref<bool(const llvm::Loop *)> Belongs);

/// The references merged into groups. What does not fit goes to `Overflow`.
llvm::SmallVector<Group, 8> groupsOf(llvm::ArrayRef<Classified> References, llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                                     llvm::SmallVectorImpl<llvm::Instruction *> &Overflow);

/// "temporal", "spatial", "none" or "unknown".
llvm::StringRef reuseName(const llvm::SCEV *Stride);

} // namespace pagecast

#endif
