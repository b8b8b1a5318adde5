// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints to the second level: what a nest will touch of an export that is mapped is asked of the server ahead, by NBD's cache
// request. Its storage cache has it then when the pager fetches it, which is the first level, nearer to the program. The
// request binds no one: who gets none of it has lost time only.
//
// A nest's iterations are cut into intervals, as slices are in PACT 2008. When the program enters one, the blocks of the next
// one are asked for, each once. An interval is a tenth of the iterations, or less where that would be more than a few blocks of a group.
//
// In a job with a helper (runtime/nbd/job.h), the nest is laid open to it, and nothing is asked for here while the helper serves
// it. Where the helper says that the process shares with nobody, does not answer soon, or has gone, this process asks for its own.
//
// Whether what the process asks for pays is measured for each nest (core/sharing/far_investment.h); where it does not, nothing is
// asked for, and it is tried again seldom.
//
// The pager fetches nothing that was not asked for here or by the helper: its reads would be in the way of what was.
//
// Pager's thread.
#pragma once
#include "core/sharing/asker.h"
#include "core/sharing/far_investment.h"
#include "core/sharing/reference.h"
#include "runtime/nbd/membership.h"
#include "runtime/pager/pager.h"
#include "runtime/state/open_nests.h"

#include <cstdint>

namespace pagecast {

class FarHints {
public:
  explicit FarHints(Pager &pager) : pager_(pager) {}
  /// The nest begins.
  void begin(const OpenNest &);
  /// The program has finished so many steps of it: asks, and has the pager fetch no more than was asked for. Returns the step at
  /// which it wants to be called again; ~0: never.
  uint64_t go_on(OpenNest &, uint64_t step);
  /// The program has left it.
  void end(OpenNest &);
  /// In the child of a fork, which is a process without a helper.
  void forked();

private:
  static constexpr size_t kPhases = 64; ///< nests whose hints are judged
  static constexpr uint64_t kMostWords = 1u << 18; ///< of a set: a TiB in blocks of 64 KiB
  /// A nest's hints over all of its entries: whether they pay. One of two nests that have the same place begins anew each time.
  struct Phase {
    const pagecast_nest *nest;
    core::FarInvestment investment;
  };
  struct Nest {
    uint64_t next, intervals; ///< `intervals` 0: none of its groups is of an export
    int entry; ///< in the job; -1: it is not laid open
    core::Asker asker;
    bool meets; ///< its program has been told where to wait
    Phase *phase;
    uint64_t bytes; ///< that it touches of exports, about
    uint64_t step, since_ns; ///< where the program was when its pace was noted last, and when; 0: it is not noted
  };
  /// A region's export in blocks.
  struct Blocks {
    uint64_t beginning; ///< where it would be in memory, modulo 2^64
    uint64_t bytes; ///< of a block
    uint64_t words; ///< of a set
  };
  Blocks blocks_of(const PagedRegion &) const;
  const PagedRegion *export_of(const core::Group &) const;
  static void cut(Nest &, uint64_t intervals, uint64_t steps);
  void insert(const OpenNest &, const PagedRegion &, const Blocks &, uint64_t interval, uint64_t intervals, uint64_t *set) const;
  void ask(const OpenNest &, const PagedRegion &, uint64_t interval, uint64_t intervals);
  Phase *phase_of(const OpenNest &);
  bool pays(Nest &, uint64_t step, uint64_t steps);
  uint64_t go_on_alone(OpenNest &, Nest &, uint64_t step);
  int lay_open(const OpenNest &, uint64_t intervals);
  uint64_t be_served(OpenNest &, Nest &, uint64_t step);

  Pager &pager_;
  Membership job_;
  Nest nest_[kMostOpenNests] = {};
  Phase phase_[kPhases] = {};
  uint64_t *set_ = nullptr, *before_ = nullptr; ///< of this interval, and of the one before it
};

} // namespace pagecast
