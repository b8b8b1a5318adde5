// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments: the words that the runtime learns on entry to a nest (pagecast/abi.h). In
//
//     for (i = 1; i < n; i++) b[i] = a[i]          // int
//
// they are trips = n - 1, base = b + 4, stride = 4, base = a + 4, stride = 4. Each is a constant plus
// a multiple of one value, so that the program passes n, b and a, and a table holds the rest.
#ifndef PAGECAST_COMPILER_ARGUMENTS_H
#define PAGECAST_COMPILER_ARGUMENTS_H

#include "Slice.h"

#include "llvm/IR/Constants.h"

namespace pagecast {

class Arguments {
public:
  Arguments(const Nest &N, const Slice &S, llvm::ScalarEvolution &SE);

  /// The pagecast_words.
  llvm::Constant *table(llvm::LLVMContext &C) const;
  /// What the program passes: expressions, or values of the program.
  llvm::ArrayRef<LiveValue> dynamic() const { return Dynamic; }

private:
  struct Word {
    llvm::Constant *Known; ///< i64
    int32_t Scale;
    uint32_t From;
  };
  llvm::ScalarEvolution &SE;
  llvm::SmallVector<Word, 16> Words;
  llvm::SmallVector<LiveValue, 4> Dynamic;

  void add(const llvm::SCEV *S);
  uint32_t pass(LiveValue V);
};

/// Trip count from the number of backedges taken, as an i64.
const llvm::SCEV *tripsOf(const llvm::SCEV *Backedges, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
