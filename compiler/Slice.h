// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: a function per nest with indirect groups that do not fit in forms, which computes their addresses for a run of
// iterations and reports those whose page is absent (pagecast_slice in pagecast/abi.h).
//
// It is built from the address trees alone, so that it has no stores, no calls but the one to
// touch->miss, and a loop of exactly `count` iterations. It reads the index arrays, nothing else.
#ifndef PAGECAST_COMPILER_SLICE_H
#define PAGECAST_COMPILER_SLICE_H

#include "Forms.h"

namespace pagecast {

/// A value that the slice gets from the program, as a word: an expression or a value of the program.
struct LiveValue {
  const llvm::SCEV *Expression;
  llvm::Value *Direct;
};

struct Slice {
  llvm::Function *Code = nullptr; ///< null when no group is indirect, or there are forms
  llvm::SmallVector<Form, 4> Forms;
  llvm::SmallVector<LiveValue, 8> Live;
};

Slice buildSlice(const Nest &N, llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
