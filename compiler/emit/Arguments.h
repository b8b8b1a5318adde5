// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments: the words that the runtime learns on entry to a nest (pagecast/abi.h). In
//
//     for (i = 1; i < n; i++) b[i] = a[i]          // int
//
// they are trips = n - 1, base = b + 4, stride = 4, base = a + 4, stride = 4. The program passes n, b and a: what
// is in them already. All arithmetic on them is in tables, a prologue that the runtime does.
#ifndef PAGECAST_COMPILER_ARGUMENTS_H
#define PAGECAST_COMPILER_ARGUMENTS_H

#include "emit/PassedWords.h"
#include "nests/Nests.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Constants.h"

namespace pagecast {

class Arguments {
public:
  /// What the program passes anyway, all of it, comes first.
  Arguments(const Nest &N, llvm::ScalarEvolution &SE, llvm::ArrayRef<llvm::Value *> Anyway = {});

  /// The pagecast_words.
  llvm::Constant *table(llvm::LLVMContext &C) const;
  llvm::ArrayRef<llvm::Constant *> constants() const { return Constants; } ///< i64
  /// The prologue, with its registers numbered.
  llvm::SmallVector<pagecast_op, 16> prologue() const;
  /// What the program passes.
  llvm::ArrayRef<const llvm::SCEV *> dynamic() const { return Dynamic; }

private:
  struct Register {
    enum Kind { Dynamic, Constant, Result } Is;
    unsigned Number;
  };
  struct Operation {
    unsigned Code, Width, Extra;
    Register A, B;
  };
  struct Word {
    llvm::Constant *Known; ///< i64
    int32_t Scale;
    Register From;
  };
  /// Known + Scale * Rest.
  struct Parts {
    uint64_t Known;
    int32_t Scale;
    const llvm::SCEV *Rest;
  };
  llvm::ScalarEvolution &SE;
  PassedWords Chosen;
  llvm::SmallVector<Word, 16> Words;
  llvm::SmallVector<const llvm::SCEV *, 4> Dynamic;

  llvm::SmallVector<llvm::Constant *, 8> Constants;
  llvm::SmallVector<Operation, 16> Operations;
  llvm::DenseMap<const llvm::SCEV *, Register> Computed;

  Parts partsOf(const llvm::SCEV *S) const;
  void choose(llvm::ArrayRef<const llvm::SCEV *> Wanted, const Nest &N);
  void add(const llvm::SCEV *S);
  Register compute(const llvm::SCEV *S);
  Register operate(const llvm::SCEV *S);
  Register polynomial(const PassedWords::Polynomial &P);
  Register pass(const llvm::SCEV *S);
  Register constant(llvm::Constant *C);
  uint32_t number(Register R) const;
};

} // namespace pagecast

#endif
