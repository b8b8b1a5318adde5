// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was asked of a back end that gives no answers: the kernel reads pages that it was advised to read, and takes
// them away when it likes, and says neither. The log keeps the hints in their order and answers two questions:
//
//   ahead     which hints the program has not reached yet. They bound how far slices run ahead: pages that are read
//             too early are reclaimed before their turn.
//   kept      which hints are so old that the kernel has probably reclaimed their pages: their bits in the residency
//             map are cleared, so that the next hint passes the filter. `kept` follows samples: of the hints that grow
//             old, most should still be in memory, and not all. A hint too many costs a microsecond, one too few a read.
//
// Example: memory of 4 pages, kept = 3. Hints for pages 1 2 3 4: when 4 comes, 1 is forgotten. It is asked for again
// at its next use, and the kernel, which has it or not, does the right thing.
//
// Threads: one at a time.
#pragma once
#include "core/residency.h"
#include "core/types.h"

namespace pagecast::core {

struct Hinted {
  Addr address;
  uint32_t pages;
  uint32_t wanted_by; ///< step of its nest
  uint8_t nest, turn;
  bool bounded; ///< counts as ahead until the program has come to it
};

class HintLog {
public:
  /// `entries`: zeroed memory for `capacity` hints, a power of two. Pages: the kept ones to begin with, and at most.
  void attach(Hinted *entries, uint64_t capacity, unsigned page_shift, uint64_t kept, uint64_t most_kept);

  /// Notes a hint and sets its bits; clears the bits of hints that have grown old.
  void add(const Hinted &, ResidencyMap &);

  uint64_t ahead_pages() const { return ahead_pages_; }
  uint64_t ahead_hints() const { return next_ - first_ahead_; }
  /// The oldest but `skip` of the hints that the program has not reached.
  const Hinted &ahead(uint64_t skip) const { return entries_[(first_ahead_ + skip) & mask_]; }
  /// The program has reached the `hints` oldest ones.
  void pass(uint64_t hints);

  /// One in kSampleEvery of the hints that grew old: is its page still in memory? False: none to ask about now.
  bool sample(Addr *address);
  /// The answer.
  void sampled(bool in_memory);

  uint64_t held_pages() const { return held_; } ///< of hints that are not old
  uint64_t kept() const { return kept_; }
  static constexpr uint64_t kSampleEvery = 64;
  static constexpr uint64_t kLeastKept = 1024; ///< pages

private:
  void forget_oldest(ResidencyMap &);

  Hinted *entries_ = nullptr;
  uint64_t mask_ = 0;
  unsigned shift_ = 12;
  uint64_t oldest_ = 0, first_ahead_ = 0, next_ = 0; ///< numbers of hints, ever growing: oldest_ <= first_ahead_ <= next_
  uint64_t ahead_pages_ = 0, held_ = 0;
  uint64_t kept_ = 0, most_kept_ = 0;
  uint64_t forgotten_ = 0;
  Addr sample_ = 0; ///< 0 = none
};

} // namespace pagecast::core
