// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What slices cost, and how nests go with them and without: the figures that core/slices/slice_investment.h decides by. There is
// one account for each nest of the source, whichever of its executions is open; the first Statistics::kSlices have one.
//
// Threads: the slicer's.
#pragma once
#include "core/slices/slice_investment.h"
#include "runtime/engine/engine.h"
#include "runtime/state/open_nests.h"

namespace pagecast {

class SliceAccounts {
public:
  /// Notes how the nest, which stays open meanwhile, went on since the last look. Whether its slice is to run now.
  bool runs(Engine &, OpenNest &);
  /// It has: the processor time since the last look is the slice's.
  void ran(const Engine &, const OpenNest &);
  /// The slice of what the entry of the table holds is switched off: a look now and then is enough.
  bool is_off(const Engine &, const OpenNest &) const;

private:
  struct Account {
    core::SliceInvestment investment;
    uint64_t charged = 0; ///< of what others spent for it
  };
  SliceStatistics *costs_of(Engine &, OpenNest &);
  void note_progress(OpenNest &, Account &, uint64_t now);

  Account account_[Statistics::kSlices];
  uint64_t cpu_ = 0; ///< processor time of this thread, when it was looked at last
};

} // namespace pagecast
