// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that addresses come from: in
//
//     for (t..T) { fread(r, 8, 2, f);  for (k..300) s += w[r[0] * 300 + k]; }
//
// the row of the next iteration of t is not known before fread has been called for it. So the loop around is no part of the nest,
// and the user is told which call stands between.
#ifndef PAGECAST_COMPILER_ADDRESSCALLS_H
#define PAGECAST_COMPILER_ADDRESSCALLS_H

namespace llvm {
class CallBase;
class Loop;
class SCEV;
} // namespace llvm

namespace pagecast {

/// The call in `Around`, outside of the loop `Root` in it, whose result `S` is made of; or that was given the memory which a part
/// of `S` is loaded from. NULL: there is none, or it is not known which.
const llvm::CallBase *callBehind(const llvm::SCEV *S, const llvm::Loop *Around, const llvm::Loop *Root);

} // namespace pagecast

#endif
