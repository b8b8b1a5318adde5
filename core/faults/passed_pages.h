// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the pages that a stream of faults has passed go before all others. A table that is read in order, or a result that is
// written so, passes by; what is looked up at random meanwhile is used again and again:
//
//     for (i..n) sum[key[i]] += value[i];          key and value pass by, sum is in use
//
// In the order in which they came, key and value push out sum. Released behind the stream (core/memory/replacement.h) they go
// first. But faults do not prove that the program has finished with anything: a table may be filled in order, and be used
// at random from then on. So one page in kSample is noted when it is passed, and a fault on it that comes before half of memory
// has gone counts as a regret: in its old place it would have been there.
//
//   pays     all pages are released; until one noted page in kRegrets is regretted, and at least kLeastRegrets
//   samples  only noted pages are released, which tells what the others would do; until of at least kEnough of them,
//            the last kHalved or so, hardly one in kFew was regretted. As long as that does not come, fewer of them are: half as many
//            each time that kHalved / 2 have been
//
//   pays --- regretted() ---> samples --- passed() ---> pays
//
// Both count the same pages in the same way, so that nothing is tried again at the cost of all pages. What it costs where it never
// pays is one page in kSample, released in vain, and soon one in 1,024. Without that, a tree that was a little larger than memory, whose
// pages look like streams now and then, waited for 22,000 pages more.
//
// Example: a table of 4,000 pages is filled in order. 250 are noted; the 16th regret comes when it is used at random. From then on
// its pages stay when they are passed, but for 16 in 256, and later for one in 1,024.
//
// One PassedPages for each region and kind of page, one PassedNotes for all. Time is counted in pages that went. O(1); the
// pager's thread.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

/// The pages that are noted, with when they were passed.
class PassedNotes {
public:
  static constexpr uint32_t kSample = 16; ///< one page in so many is noted, by its number
  static constexpr unsigned kKinds = 2; ///< the caller's

  static bool notes(uint32_t slot) { return hash_of(slot) < kSampled; }
  /// A page that notes() is passed and released; `gone`: pages that have gone so far.
  void passed(uint32_t slot, unsigned kind, uint64_t gone) {
    note_[hash_of(slot) >> kNoteShift] = {slot, static_cast<uint32_t>(gone), static_cast<uint8_t>(kind + 1)};
  }
  /// The program waits for a page. Which kind it was of, if its release is regretted; else kNone. `most`: pages that may be in memory.
  unsigned regretted(uint32_t slot, uint64_t gone, uint32_t most) {
    if (!notes(slot)) return kNone;
    Note &n = note_[hash_of(slot) >> kNoteShift];
    if (n.slot != slot || n.kind == 0) return kNone;
    const unsigned kind = n.kind - 1u;
    n.kind = 0;
    return static_cast<uint32_t>(gone) - n.gone <= most / 2 ? kind : kNone;
  }
  static constexpr unsigned kNone = ~0u;

private:
  static constexpr uint32_t kSampled = 1u << 28, kNoteShift = 17, kNotes = kSampled >> kNoteShift;
  static_assert((uint64_t{1} << 32) / kSampled == kSample);
  static uint32_t hash_of(uint32_t slot) { return slot * 2654435761u; }

  struct Note {
    uint32_t slot;
    uint32_t gone; ///< pages that had gone by then, modulo 2^32
    uint8_t kind; ///< and 1 more; 0: there is none
  };
  Note note_[kNotes] = {};
};

class PassedPages {
public:
  static constexpr uint32_t kRegrets = 16, kLeastRegrets = 6;
  static constexpr uint32_t kFew = 64, kEnough = 64;
  static constexpr uint32_t kHalved = 256; ///< noted pages, after which the older ones count half
  static constexpr uint32_t kMostSeldom = 6; ///< one noted page in 2 to so many is released, at least

  /// Whether pages that are not noted are to be released.
  bool pays() const { return pays_; }
  /// Whether this page is, which is a noted one.
  bool samples() { return pays_ || (++turn_ & ((1u << seldom_) - 1)) == 0; }
  /// A noted page is passed and released.
  void passed() {
    if (++noted_ == kHalved) {
      noted_ /= 2, regretted_ /= 2;
      if (!pays_) seldom_ = std::min(seldom_ + 1, kMostSeldom);
    }
    if (noted_ >= kEnough && regretted_ * kFew <= noted_) pays_ = true, seldom_ = 0;
  }
  /// Its release is regretted.
  void regretted() {
    if (++regretted_ >= kLeastRegrets && regretted_ * kRegrets >= noted_) pays_ = false;
  }

private:
  uint16_t noted_ = 0, regretted_ = 0;
  bool pays_ = true;
  uint32_t seldom_ = 0, turn_ = 0;
};

} // namespace pagecast::core
