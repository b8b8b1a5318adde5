// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's side of core/memory/forecast.h: which nests it hears of, and what released pages gain from it. In a program that
// goes through the same nests again and again, pages are given up in the order in which they will be wanted last.
//
// Pager's thread.
#pragma once
#include "core/memory/forecast.h"
#include "runtime/memory/eviction.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/state/open_nests.h"

#include <cstdint>

namespace pagecast {

class Forecasts {
public:
  Forecasts(PagedMemory &memory, const MemoryLimit &limit, Eviction &eviction)
      : memory_(memory), limit_(limit), eviction_(eviction) {}
  /// `budget`: bytes to begin with.
  void start(uint64_t budget);
  /// A nest begins: when will what it touches be wanted again? And what those touch that it runs beside, which have
  /// found it to be the next so far.
  void foresee(OpenNest &);
  /// A nest that fits begins where others' pages fill the memory. What it has finished with must go before what is wanted
  /// sooner, and so cannot stay active until its end. Of what nobody knows when it is wanted, that is not so.
  void release_along(OpenNest &);
  /// The nest is over: what it did not release itself, because all of it fitted or because it came back to it, takes its
  /// place among what later nests want, or, where that is not known, among what nobody is known to want. Left where it
  /// is it would outstay all that is released from now on, and that may be wanted sooner, however much memory is free now.
  void release_rest(const OpenNest &);
  /// What is known of the next use of `e`, which `group` of the nest has finished with.
  Wanted wanted(const OpenNest &, unsigned group, core::Extent e, unsigned priority) const;
  /// What is due earlier is wanted before memory has been filled once more: it is likely to stay.
  uint64_t soon() const { return (forecast_.now() + limit_.budget()) / due_unit_; }
  /// Whether to go through all that the nest touches, at 2 to 5 ns a page: it is not too much.
  bool worth_walking(const OpenNest &) const;

private:
  void release_parts(const OpenNest &, unsigned group, core::Extent);

  PagedMemory &memory_;
  const MemoryLimit &limit_;
  Eviction &eviction_;
  core::Forecast forecast_;
  uint64_t due_unit_ = 1; ///< bytes: steps in which dues are told apart
};

} // namespace pagecast
