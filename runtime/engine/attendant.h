// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the pager's thread runs: wherever there is a processor, or on the one of the program's thread that faults, while that waits
// (core/faults/attendance.h says when). The kernel moves the program's threads as it likes, and nothing is changed of these: the
// pager's thread follows. That the one it attends has moved is seen from faults that come while it runs itself.
//
// Pager's thread.
#pragma once
#include "core/faults/attendance.h"
#include "runtime/kernel/os.h"
#include "runtime/state/statistics.h"

#include <cstdint>

namespace pagecast {

class Attendant {
public:
  Attendant(core::Attendance &attendance, Statistics &statistics) : attendance_(attendance), statistics_(statistics) {}
  /// Before it waits for what is to come soon: goes where it is to be. Cost: a compare or two, at times 1 us, 20 us where it goes.
  void take_place(uint64_t now);
  /// Where nothing is to come soon: others that want something may run anywhere.
  void leave();
  bool attends() const { return processor_ >= 0; }
  /// A fault has come while it looked for it. `alone`: without having been interrupted, so that the program ran elsewhere.
  void found(bool alone);
  /// It was kept from serving a thread that waits for so long, ns, or works ahead of the program: no more for now.
  void kept_waiting(uint64_t ns, uint64_t now);
  void works_ahead(uint64_t now);
  /// In the child of a fork, whose threads are others.
  void forked();

private:
  static constexpr uint32_t kSuspicions = 4;
  static constexpr uint64_t kMostKept = 1'000'000; ///< ns
  void go_to_thread(uint64_t now);

  core::Attendance &attendance_;
  Statistics &statistics_;
  os::ThreadPlace place_;
  uint64_t since_ns_ = 0;
  int processor_ = -1; ///< on which it attends; -1: it does not
  uint32_t suspicions_ = 0; ///< faults in a row that came from elsewhere
};

} // namespace pagecast
