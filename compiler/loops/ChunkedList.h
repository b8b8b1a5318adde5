// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chunked lists: walks over lists that are kept in pieces of one size, whose places are in a table, as std::deque and std::queue are.
//
//     value = *at;  if (at + 1 == end) { at = *++chunk; end = at + size; } else ++at;
//
// `at`, `end` and `chunk` are in the list's own memory, since what is called might change them. That the walk goes through
// each piece from its start to its end, and to the next one then, is assumed: k steps on from where these three say that it is,
// it will be at
//
//     chunk[o / size] + o % size      with o = size - (end - at) + k * step
#ifndef PAGECAST_COMPILER_CHUNKEDLIST_H
#define PAGECAST_COMPILER_CHUNKEDLIST_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

#include <optional>

namespace pagecast {

struct ChunkedListWalk {
  llvm::Loop *L;
  int64_t Step, Size; ///< bytes
  llvm::Value *At, *End, *Chunk; ///< addresses, which stay, of what is called so above
  llvm::Instruction *ToNext; ///< stores the place of the next chunk, as the walk goes there
  llvm::SmallPtrSet<llvm::Value *, 8> Next; ///< values that `at` has when an iteration ends, on its ways there
};

/// A position in a list in chunks, as it is at some place in the program.
struct ChunkedListPosition {
  llvm::Value *Offset; ///< in bytes, from the start of the chunk
  llvm::Value *Chunk; ///< where the table has it
  llvm::SmallVector<llvm::Instruction *, 8> Made;
};

/// The walk of a value in `L`, as it is at the beginning of each iteration. `At` is a phi of the header, or a load that
/// nothing is stored before. Nothing if it does not walk so.
std::optional<ChunkedListWalk> chunkedListWalk(llvm::Instruction *At, llvm::Loop *L, const llvm::DominatorTree &);

/// Whether something is called in the loop that is given the list, and so may move its table.
bool tableMayMove(const ChunkedListWalk &W);

/// Whether the list may end at what is kept at `End`: the three are there, too, as far as the addresses that are loaded from tell.
/// Two of them are, or `End` alone, which is compared with the walk.
bool isEndOf(const ChunkedListWalk &W, llvm::Value *End, llvm::ArrayRef<llvm::Value *> Loaded);

/// Loads a position before `Where`, where the three are as those of `W` from `At` on. Null if that might fault.
bool canLoadPosition(const ChunkedListWalk &W, llvm::Value *At, llvm::Instruction *Where, const llvm::DominatorTree &);
std::optional<ChunkedListPosition> loadPosition(const ChunkedListWalk &W, llvm::Value *At, llvm::Instruction *Where,
                                                const llvm::DominatorTree &);

} // namespace pagecast

#endif
