// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints by hand and from slices: the rings in which they come, and what becomes of them. One by hand that finds no room is
// dropped; one of a slice waits, with those behind it, until something became free.
//
// Pager's thread, but for what is marked.
#pragma once
#include "core/types.h"
#include "runtime/engine/forecasts.h"
#include "runtime/files/advise.h"
#include "runtime/pager/pager.h"
#include "runtime/state/hint_ring.h"

#include <cstdint>

namespace pagecast {

class HintQueues {
public:
  HintQueues(Pager &pager, Advise &files, const Forecasts &forecasts) : pager_(pager), files_(files), forecasts_(forecasts) {}
  /// `budget`: bytes of memory that the program may hold.
  void start(uint64_t budget);
  /// False when the queue is full. Any thread.
  bool push_by_hand(const Hint &);
  bool push_of_slice(const Hint &hint) { return of_slices_.push(hint); }

  /// Sees to the oldest ones. Once in each turn of the loop. True: there were some.
  bool take();
  /// There are some that may find room.
  bool posted() const;

private:
  bool take_by_hand(const Hint &);
  bool take_of_slices();
  bool take_of_slice(const Hint &);
  bool advise(const Hint &, core::Extent, bool from_slice);
  bool fetch_range(const Hint &, core::Extent, const Fetcher::Asked &);
  bool fetch_page(uint64_t address, const Fetcher::Asked &);
  bool fetch_around(PagedRegion &, uint32_t slot, const Fetcher::Asked &);

  Pager &pager_;
  Advise &files_;
  const Forecasts &forecasts_;
  static constexpr uint32_t kMostByHand = 1024, kMostOfSlices = 8192;
  HintRing<kMostByHand> by_hand_;
  HintRing<kMostOfSlices> of_slices_;
  uint64_t blocked_ = 0; ///< what PagedMemory::freed was when the oldest hint of a slice found no room
};

} // namespace pagecast
