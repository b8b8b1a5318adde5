// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults: what no hint foresaw, or foresaw too late. Each is served by the state of its page, and counted so:
//
//   zero      filled with zeros, some neighbours with it (append_runs.h)            a zero fill fault
//   absent    read from the backing store; its arrival wakes the thread             not prefetched
//   reading   it is on its way already: the thread waits for the rest               late, if a hint had asked for it
//   mark      shown: the program has come to a stream's mark                        a hit
//   shelved   shown: it was about to go, and is in use                              a second chance
//   clean     a first store: the page becomes dirty, and may be stored to           protect
//   forked    the same; while another process has it, too, there must be memory for a copy
//   writing   a store to a page on its way out: it stays, and is dirty afterwards   protect
//   lost      the thread gets SIGBUS                                                lost
//
// A fault that finds no room waits, and is tried again in each turn of the loop.
//
// Pager's thread.
#pragma once
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/memory/waits.h"
#include "runtime/pager/append_runs.h"
#include "runtime/pager/stream_fetcher.h"
#include "runtime/pager/succession_fetcher.h"
#include "runtime/pager/fetcher.h"
#include "runtime/pager/marks.h"

#include <algorithm>
#include <cstdint>

namespace pagecast {

class FaultService {
public:
  FaultService(PagedMemory &memory, MemoryLimit &limit, Placement &placement, Marks &marks, AppendRuns &runs, Fetcher &fetcher,
               StreamFetcher &streams, SuccessionFetcher &successions)
      : memory_(memory), limit_(limit), placement_(placement), marks_(marks), runs_(runs), fetcher_(fetcher), streams_(streams),
        successions_(successions) {}
  /// Serves those that have come. True: some have.
  bool take();
  /// Faults that found no room are waiting.
  bool waiting() const { return waiting_.count() != 0; }
  /// Tries these again. True: some were served.
  bool retry();
  /// They fault again, and somebody else serves them (still_service.h).
  void hand_over() {
    waiting_.retry([this](uint64_t address, bool, core::Favour::Owner) { return placement_.wake(address, memory_.page), true; });
  }
  /// In the child of a fork: none waits here.
  void forked() { waiting_.clear(); }

private:
  void take(const os::Fault &);
  /// How long the thread has waited that was let go on in this turn.
  uint64_t let_go_since(uint64_t began) const { return std::max(placement_.let_go_ns(), began) - began; }
  void follow(const os::Fault &, uint32_t slot, core::Favour::Owner);
  void wait_for_room(const os::Fault &, uint32_t slot, uint64_t began);
  StallKind kind_of(const Page &before, uint32_t slot, bool served) const;
  bool serve(uint64_t place, bool write, core::Favour::Owner, bool again);
  void wait_for(uint32_t slot, bool write, core::Favour::Owner, bool again);
  bool goes_on(const PagedRegion &, uint32_t slot, uint64_t place) const;
  PageRun around(PagedRegion &, uint32_t slot, uint64_t place);
  bool refill(PagedRegion &, uint64_t place, bool write, core::Favour::Owner);
  bool stored_to_protected(PagedRegion &, uint32_t slot);
  void stored_while_written(uint32_t slot);
  void unprotect_run(PagedRegion &, uint32_t slot);
  void unprotect_forked(PagedRegion &, uint32_t slot);

  PagedMemory &memory_;
  MemoryLimit &limit_;
  Placement &placement_;
  Marks &marks_;
  AppendRuns &runs_;
  Fetcher &fetcher_;
  StreamFetcher &streams_;
  SuccessionFetcher &successions_;
  WaitingFaults waiting_;
};

} // namespace pagecast
