// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a copy of a program that waits: stops it, has it clone itself, lets go of it, and locks the clone up.
//
//   the program   ---- waits for the disk ----| 0.3 ms |---- goes on, not traced, not changed ---->
//   the copy                                   cloned  | its descriptors, memory, filter | runs ahead ---->
#pragma once
#include "speculate/inject/descriptors.h"
#include "speculate/inject/memory_map.h"
#include "speculate/shared/channel.h"
#include "speculate/watch/proc.h"
#include <sys/user.h>

namespace pagecast::speculate {

enum class Made {
  kCopy,
  kNotNow,  ///< the moment had passed
  kNoUse,   ///< it waits in page faults, and maps no file that it reads
  kFailed,  ///< it could not be cloned, or the clone could not be locked up
  kNever,   ///< this program or this host does not allow it: see `reason`
};

struct CopyPlan {
  uint32_t number = 0;  ///< of the copy
  pid_t unreaped = 0;   ///< an earlier copy of the same process that has ended
  uint32_t seconds = 0; ///< it lives so long
  int channel = -1;     ///< descriptor
  class ReadsTracer *tracer = nullptr; ///< traces the program already
  bool in_fault = false; ///< the wait is in a page fault
  bool any_wait = false; ///< waits are too short to be seen twice: the stop may come in whichever is next
};

struct CopyMade {
  Made outcome = Made::kNotNow;
  pid_t process = 0;      ///< of the copy, also when it could not be locked up: it must be reaped
  int handle = -1;        ///< pidfd
  uint64_t stopped = 0;   ///< ns that the program was stopped
  const char *reason = ""; ///< for kNever
};

class CopyMaker {
public:
  CopyMade make(const Thread &original, const Look &seen, const CopyPlan &plan);

private:
  bool fill_order(const Thread &original, pid_t clone, const user_regs_struct &back, const CopyPlan &plan);
  bool lock_up(const Thread &original, const user_regs_struct &back, const CopyPlan &plan, uint64_t call_at, CopyMade *made);

  MemoryMap map_;
  Descriptors descriptors_;
  Positions positions_;
  Order order_;
};

bool has_landlock();

/// Why a process cannot be copied, ever; nullptr if it can.
const char *refusal(pid_t process);

} // namespace pagecast::speculate
