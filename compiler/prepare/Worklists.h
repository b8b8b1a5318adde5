// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worklists: loops over what they add to themselves.
//
//     while (head < tail) { u = queue[head++]; for (e..row(u)) if (isNew(to[e])) queue[tail++] = to[e]; }
//
// How often such a loop runs no one knows before it. But what the list has at a time is there to be read, and in a
// breadth-first search that is a whole level. So the loop is made to pause where the list ended when it last did:
//
//     count = 1
//     round: done = 0
//            do { body; if (head >= tail) goto exit; } while (++done != count)
//            count = tail - head
//            goto round
//
// The rounds can be counted, and are what nests are found in. The program's own test comes first in every iteration, so
// nothing depends on what the count was made of: a bound that has gone down since ends the loop where it always did.
//
// Where the list is in chunks (ChunkedList.h), as std::queue has it, its length is computed from both of its ends. The round ends
// as well when the table of chunks has moved. For that, loops over such lists run in rounds where they can be counted, too.
#ifndef PAGECAST_COMPILER_WORKLISTS_H
#define PAGECAST_COMPILER_WORKLISTS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"

namespace pagecast {

/// Has worklists run in rounds. Loops are in simplified and LCSSA form, and stay so. True if anything changed.
bool splitWorklists(llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
