// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the pages around a page that the program faulted on are wanted soon, too. A sort by index, or rows taken in a random
// order, come to all pages of an array before they are through, in no order that faults tell: then a request for some pages
// costs little more than one for a page, and spares as many waits. A table of which a few pages are used would lose memory by
// it.
//
// So they are read with it until samples say otherwise: pages beside a fault that are left absent. When enough of them were
// faulted on, or memory has been filled to a part with others meanwhile, it is decided anew:
//
//   pays   half of the samples were wanted, and clearly more than of the pages that go: of data that are used all alike, what
//          comes is worth no more than what goes for it
//   else   pages are read alone
//
// Samples are taken all the time, one for every kEvery faults, so that a change is seen. It begins with reading more: where
// pages come alone, those in between are left in pieces, and nearly all of them have been waited for before it is known that
// they are wanted. Where that is wrong, it costs kSamples * kEvery reads, and at most a quarter of memory, once.
//
// Example: 8 of 16 samples were faulted on before 2,000 pages had gone; of pages that go, a tenth is wanted again within that.
//
// One such object for each region; the pager's thread. Cost: 16 comparisons a fault.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace pagecast::core {

class Surroundings {
public:
  static constexpr uint32_t kSamples = 16, kEvery = 4;
  static constexpr uint32_t kMostPages = 16; ///< 64 KiB move at nearly full speed
  static constexpr uint32_t kShare = 2048;   ///< of memory: what is read at a time
  static constexpr uint32_t kMemoryShare = 4; ///< of memory: so many pages have gone when samples are decided on
  static constexpr uint32_t kMore = 5, kThan = 4; ///< "clearly more": times as many, over

  /// Pages of which a block consists, a power of two; `memory`: pages of the budget.
  static constexpr uint32_t block(uint32_t memory) { return std::bit_floor(std::clamp(memory / kShare, 1u, kMostPages)); }

  bool pays() const { return pays_; }
  /// The program faulted on an absent page.
  void fault(uint32_t slot) {
    for (uint32_t i = 0; i < taken_; ++i)
      if (sample_[i] == slot) sample_[i] = kWanted, ++wanted_;
  }
  /// A fault comes with absent pages around it. True: sample() shall be told one of them, which stays absent.
  bool wants_sample() { return taken_ < kSamples && faults_++ % kEvery == 0; }
  void sample(uint32_t slot, uint64_t gone) {
    if (taken_ == 0) began_ = gone;
    sample_[taken_++] = slot;
    if (taken_ == kSamples) full_ = gone;
  }
  /// Decides, when it is time. `gone`: pages that have gone from memory so far, which holds `memory`; `rate`: of pages that go, the
  /// part that is wanted again, for each page that goes after them.
  void judge(uint64_t gone, uint32_t memory, double rate) {
    const uint64_t horizon = memory / kMemoryShare;
    if (taken_ < kSamples) {
      if (taken_ && gone - began_ > 4 * horizon) taken_ = wanted_ = 0; // too seldom: the first ones say nothing any more
      return;
    }
    const bool many = wanted_ * 4 >= kSamples * 3;
    if (!many && gone - full_ < horizon) return;
    const double away = double(gone - began_ + gone - full_) / 2;
    const double others = std::min(1.0, rate * away) * kSamples;
    pays_ = wanted_ * 2 >= kSamples && wanted_ * kThan >= others * kMore;
    taken_ = wanted_ = 0;
  }

private:
  static constexpr uint32_t kWanted = ~uint32_t{0};
  uint64_t began_ = 0, full_ = 0; ///< when the first and the last sample were taken, in pages that have gone
  uint32_t sample_[kSamples];
  uint32_t taken_ = 0, wanted_ = 0, faults_ = 0;
  bool pays_ = true; ///< until the first samples are decided on
};

} // namespace pagecast::core
