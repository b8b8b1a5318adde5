// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fetching ahead of what no hint foresees, from the faults that were: core/faults/fault_streams.h says which pages come next. This
// is what programs get that were not compiled with pagecast, and the others where no nest is open.
//
// A mark (see there) on a page that was never stored to is simply left out. One on a page of the backing store is read
// with its neighbours, but kept in a buffer (marks.h) until the program faults on it: a fault without a read.
//
// Where what was fetched went unused, nothing is for a while (core/faults/stream_investment.h).
//
// Pages behind a stream in order are released, while that is not regretted (core/faults/passed_pages.h): they go before all that is
// used at random. Of those behind other streams nothing is known, and they go as all others do.
//
// Pager's thread.
#pragma once
#include "core/faults/fault_streams.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/pager/fetcher.h"
#include "runtime/pager/marks.h"

#include <cstdint>

namespace pagecast {

class StreamFetcher {
public:
  StreamFetcher(PagedMemory &memory, const MemoryLimit &limit, Placement &placement, Marks &marks, Fetcher &fetcher)
      : memory_(memory), limit_(limit), placement_(placement), marks_(marks), fetcher_(fetcher) {}
  /// The program faulted at an address whose page was not there; the fault itself is being served. False: it is in no stream, nor
  /// foreseen by a nest.
  bool follow(uint64_t address, bool write, core::Favour::Owner);
  /// A first store to a page of a stream, right behind another one: so it goes on. False: it is not in a stream.
  bool stored(uint32_t slot);
  /// Asks for what is next in all streams. Once in each turn of the loop. True: something could be asked for.
  bool push_on();
  /// The pages of [begin, end) are gone.
  void forget(uint64_t begin, uint64_t end) { fault_streams_.forget(static_cast<int64_t>(begin), static_cast<int64_t>(end)); }

private:
  uint32_t slot_at(int64_t place);
  static core::StreamInvestment &investment(PagedRegion &, const core::Stream &);
  void watch(unsigned stream, core::StreamInvestment &);
  void settle_behind(PagedRegion &, core::Stream &);
  void leave_behind(PagedRegion &, uint32_t slot);
  void give_up(const core::Stream &);
  bool push_on(unsigned stream);
  uint32_t push_run(PagedRegion &, core::Stream &, uint32_t slot, uint32_t pages);

  PagedMemory &memory_;
  const MemoryLimit &limit_;
  Placement &placement_;
  Marks &marks_;
  Fetcher &fetcher_;
  core::Favour::Owner owner_[core::FaultStreams::kMost] = {}; ///< of each stream
  core::FaultStreams fault_streams_{os::page_shift()};
};

} // namespace pagecast
