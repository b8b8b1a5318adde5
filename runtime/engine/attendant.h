// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the pager's thread runs: wherever there is a processor, or on the one of the program's thread that faults, while that waits
// (core/faults/attendance.h says when). The kernel moves the program's threads as it likes, and nothing is changed of these: the
// pager's thread follows. That the one it attends has moved is seen from faults that come while it runs itself.
//
// Others may take the processor for up to a second, and nobody else serves faults. So a thread of its own watches: where the pager's has
// done nothing for some milliseconds, because others run, or the program does, or it sleeps, it attends no longer, and runs anywhere.
//
// Pager's thread, but for what is marked.
#pragma once
#include "core/faults/attendance.h"
#include "runtime/kernel/os.h"
#include "runtime/state/statistics.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class Attendant {
public:
  Attendant(core::Attendance &attendance, Statistics &statistics) : attendance_(attendance), statistics_(statistics) {}
  /// Before it waits for what is to come soon: goes where it is to be. Cost: a compare or two, at times 1 us, 20 us where it goes.
  void take_place(uint64_t now);
  /// It works, so that nobody keeps it from that. Once in each turn of the loop.
  void beat() { beats_.store(beats_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  /// The watching thread's body; never returns. While nobody is attended it sleeps, else it looks every kWatchNs: 20 us each.
  void watch();
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
  static constexpr uint64_t kWatchNs = 2'000'000;
  static constexpr unsigned kMoreLooks = 20; ///< before the watching thread sleeps
  void go_to_thread(uint64_t now);
  void disturbed(uint64_t now);

  core::Attendance &attendance_;
  Statistics &statistics_;
  os::ThreadPlace place_;
  uint64_t since_ns_ = 0;
  int processor_ = -1; ///< on which it attends; -1: it does not
  uint32_t suspicions_ = 0; ///< faults in a row that came from elsewhere
  // Shared with the watching thread.
  std::atomic<uint64_t> beats_{0};
  std::atomic<uint32_t> watches_{0}; ///< 0: it sleeps
};

} // namespace pagecast
