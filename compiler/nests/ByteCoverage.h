// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte coverage: which bytes of a nest's groups an instruction touches, proved. Groups are hints, and their forms may rest on
// assumptions; here addresses are the program's own.
#ifndef PAGECAST_COMPILER_BYTECOVERAGE_H
#define PAGECAST_COMPILER_BYTECOVERAGE_H

#include "nests/Nests.h"

namespace pagecast {

class ByteCoverage {
public:
  ByteCoverage(const Nest &N, const llvm::LoopInfo &LI, const llvm::DominatorTree &DT, llvm::ScalarEvolution &SE)
      : N(N), LI(LI), DT(DT), SE(SE) {}

  /// The offsets of a pointer from the group's first reference in an iteration of the chain, if they are the same in all.
  bool places(const Group &G, llvm::Value *Pointer, const llvm::Instruction *At, llvm::SmallVectorImpl<int64_t> &Out) const;
  /// Whether it runs in each iteration of a loop of the chain: in all iterations of the loops inside that it is in, whose
  /// trip counts are constant.
  bool runsAlways(const llvm::BasicBlock *Block) const;
  /// The direct group that reads whose extent has all that is read at `Pointer`, or null.
  const Group *seenIn(llvm::Instruction *At, llvm::Value *Pointer) const;

private:
  const Nest &N;
  const llvm::LoopInfo &LI;
  const llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;

  const llvm::SCEV *addressOf(const Group &G) const;
  bool isInside(const llvm::Loop *L) const;
  uint64_t trips(llvm::Loop *L) const;
  bool valuesOf(const llvm::SCEV *Offset, const llvm::Instruction *At, llvm::SmallVectorImpl<int64_t> &Out) const;
};

} // namespace pagecast

#endif
