// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few instructions that make a program clone itself and go on as if nothing had happened. They are written where the
// program has zeros in executable memory (behind its vdso), and run once, by one write of its registers:
//
//   reap an earlier copy (wait4), clone, restore every register, jump back.     The clone itself: exit at once.
//
// Nothing of the program's memory is used, no stack either. Whoever dies when, the program ends up where it was: before the
// write of registers nothing has happened, after it the instructions need nobody. A clone that nobody takes care of ends.
// A controller that lives holds the clone before its first instruction and sends it elsewhere.
//
// Flags: neither mov nor xchg nor jrcxz changes them, and the kernel keeps them over a call.
#pragma once
#include <cstdint>
#include <sys/types.h>
#include <sys/user.h>

namespace pagecast::speculate {

inline constexpr unsigned kStubBytes = 224; ///< zeros that must be there, or an earlier stub
/// The last bytes of a stub: by them the room is found again, in the program and in its children.
inline constexpr unsigned char kStubMark[8] = {'p', 'a', 'g', 'e', 'c', 'a', 's', 't'};

struct Stub {
  uint8_t bytes[kStubBytes] = {};
  unsigned length = 0;
  unsigned call_at = 0; ///< where a call instruction is
};

/// `back`: the registers with which the program goes on. `reap`: the process number of an earlier copy, or 0.
Stub make_stub(const user_regs_struct &back, pid_t reap);

} // namespace pagecast::speculate
