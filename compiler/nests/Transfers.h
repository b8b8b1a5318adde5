// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transfers: calls of memcpy, memmove and memset whose length is known at run time only, or large. For the analysis, and for
// the strips that come of it, each is a loop of bytes for a while:
//
//     memcpy(to, from, n)      do to[k] = from[k]; while (++k != n)
//
// So what is told of loops is told of them: the rows of a larger sweep, an overwritten array, strips. In the end what is
// between the bounds of the loop, be they those of a strip, becomes one call again. A length of 0 has no loop of its own: a
// nest of 0 iterations is never entered.
//
// Strips are copied upwards. That is no matter for memcpy; of memmove the nest is only entered when it would do the same.
#ifndef PAGECAST_COMPILER_TRANSFERS_H
#define PAGECAST_COMPILER_TRANSFERS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"

#include <optional>
#include <utility>

namespace pagecast {

struct NestList;
class SpeculatedValues;

/// Whether an innermost loop needs run-time alias checks to vectorize.
using NeedsChecks = llvm::function_ref<bool(llvm::Loop &)>;

/// `Distance` >= `Bytes`, unsigned: copying upwards is as good as any order.
struct Upwards {
  const llvm::SCEV *Distance = nullptr, *Bytes = nullptr;
};

class Transfers {
public:
  /// Finds those of `F`.
  Transfers(llvm::Function &F, llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE);
  Transfers(const Transfers &) = delete;
  ~Transfers();

  bool any() const { return !All.empty(); }
  /// Makes loops of them, but of those in loops only if every reference that would be hinted without still is. Loops around
  /// stay in simplified form. Returns the nests of the function as it is then, with what is inserted for them in `Speculated`,
  /// which must be empty. Costs one analysis, and, of loops that transfers are in, up to two more.
  NestList unfoldWhatPays(SpeculatedValues &Speculated, NeedsChecks Checks);
  /// Makes calls of the loops again: of those in loops only, or of all. What is folded stays so.
  void fold(bool InLoopsOnly = false);

  /// What the loop does: `Bytes` bytes to `To`, from `From` or, if that is null, `Byte`.
  struct Parts {
    llvm::Value *To, *From, *Byte, *Bytes;
  };
  /// Nothing if `L` stands for no call.
  std::optional<Parts> parts(const llvm::Loop *L) const;
  /// Whether `L` stands for memmove.
  bool isMove(const llvm::Loop *L) const;
  /// The condition under which `L`, which stands for memmove, may run in strips.
  Upwards upwards(const llvm::Loop *L) const;

private:
  struct Transfer {
    llvm::MemIntrinsic *Call; ///< in the function; unfolded: of it what the loop does not have
    llvm::BasicBlock *Body = nullptr; ///< unfolded: the loop
    bool InLoop = false;
  };
  llvm::Function &F;
  llvm::LoopInfo &LI;
  llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;
  llvm::SmallVector<Transfer, 8> All;

  llvm::SmallPtrSet<const llvm::Loop *, 8> outermostAround() const;
  void unfold();
  void unfold(Transfer &);
  void fold(Transfer &);
  static std::pair<llvm::StoreInst *, llvm::LoadInst *> accessesOf(const Transfer &);
  void fillBody(Transfer &, llvm::BasicBlock *Before, llvm::BasicBlock *After);
  const Transfer *of(const llvm::Loop *L) const;
};

} // namespace pagecast

#endif
