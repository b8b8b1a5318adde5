// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What slices find becomes hints: single pages that are absent, and ranges, which wait for their neighbours in the trail
// (trail.h) and in requests (core/slices/coalescer.h) until they are worth a request. What the program has passed is given up.
//
// Threads: the slicer's.
#pragma once
#include "runtime/state/open_nests.h"
#include "runtime/engine/engine.h"
#include "runtime/slices/machine.h"

namespace pagecast {

/// Takes the hints of one run of one nest's slice. `window`, if any, counts them.
class SliceHints final : public SliceSink {
public:
  SliceHints(Engine &engine, OpenNest &nest, SliceWindow *window, uint64_t step)
      : engine_(engine), nest_(nest), window_(window), step_(step) {}

  /// The step has been run before: its ranges have been told.
  void repeats() { repeats_ = true; }

  bool page(unsigned group, uint64_t page) override;
  bool range(unsigned group, uint64_t begin, uint64_t end) override;
  /// The program's thread waits for the run's end when it leaves the nest, and when it unmaps memory.
  bool wanted() override;
  bool region(uint64_t address, uint64_t *begin, uint64_t *end) override;
  uint64_t look_ahead(uint64_t address) override;
  /// A page that the program is about to store to, which says nothing for or against the slice: one that was never stored
  /// to, or the one where the next place began, which the two have in common.
  bool page_ahead(unsigned group, uint64_t page) override;

  /// What the trail has given back. A page that stands alone is asked for; more of them wait for their neighbours.
  bool found(unsigned group, core::Extent);
  /// Asks for what has been found in step `by` and before.
  bool ask_found(uint64_t by);
  /// Asks for the absent pages of the extent, as far as it is in regions.
  bool ask_absent(unsigned group, core::Extent e) { return ask_absent({e, 0, group, writes(group)}); }
  /// What the program has passed is given up.
  void release_passed(uint64_t program_step);

  uint64_t absent() const { return absent_; }       ///< pages found one by one that take a read, or would before long
  uint64_t untouched() const { return untouched_; } ///< and that were never stored to

private:
  static constexpr unsigned kMostOutside = 64; ///< pages, in one run
  Engine &engine_;
  OpenNest &nest_;
  SliceWindow *window_;
  uint64_t step_;
  unsigned outside_ = 0;
  bool repeats_ = false;
  uint64_t absent_ = 0, untouched_ = 0;

  uint8_t number() const { return static_cast<uint8_t>(number_of(&nest_)); }
  /// By nests inside, which see to its pages themselves.
  bool overwritten(unsigned group) const { return nest_.overwritten.load(std::memory_order_relaxed) >> group & 1; }
  /// The program stores to the pages that the group is at, or others' stores follow.
  bool writes(unsigned group) const {
    return nest_.writers >> group & 1 || (nest_.range_stage[group] && nest_.trail.is_followed_by(nest_.writers, group));
  }
  uint16_t site_of(unsigned group) const { return static_cast<uint16_t>(nest_.sites + group); }
  bool is_alone(unsigned group, core::Extent);
  bool ask_absent(const core::Coalescer::Request &);
  bool ask(unsigned group, core::Extent, bool write);
  bool tell(unsigned group, core::Extent, bool write);
  void count(core::Extent);
};

} // namespace pagecast
