// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Successions: which page the program waited for after which. Lists, trees and tables that are walked in the same order again and
// again make it wait for the same pages one after another, which lie anywhere. So what came next the last time is asked for ahead.
//
//   a list over pages 7, 2, 9, 4, 1, twice as large as memory, walked again and again:
//     the first time   each page is waited for, and 7 -> 2 -> 9 -> 4 -> 1 are noted
//     then             a wait for 7 asks for 2, 9, 4 and 1 at once
//
// Pages that are asked for in time are not waited for, so nothing would tell how far the program has come. Hence the mark, as of
// streams (fault_streams.h): one page in the middle of a window is kept out of the program's reach. When it comes there, another
// window is asked for, twice as large. What is waited for beside that strays from the way; after kStrays such waits it is given up.
//
//        seen               mark                      end
//   .......p------ window ----m-------- window --------e
//
// Pages in memory that lie on the way are passed over. Each thread has a way of its own; what follows what is known to all.
//
// Not thread-safe; the pager's thread. A wait costs O(1), what is asked for O(1) a page.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class Successions {
public:
  static constexpr uint32_t kNone = ~0u;
  static constexpr uint32_t kFirstWindow = 8, kMostWindow = 64; ///< pages: each is a request of its own
  static constexpr uint32_t kStrays = 16; ///< waits
  static constexpr uint32_t kPassed = 64; ///< pages in memory that are passed over in search of one to ask for
  static constexpr uint32_t kGroup = 1024; ///< slots whose successors take a page of memory

  /// Where a thread is.
  struct Way {
    uint32_t end = kNone; ///< the last page asked for, or waited for where nothing was
    uint32_t mark = kNone; ///< the page that tells
    uint32_t window = kFirstWindow;
    uint32_t left = 0; ///< pages to ask for, from `end` on
    uint32_t before_mark = 0; ///< of these; 0: there is a mark
    uint32_t strays = 0; ///< waits since the program was last seen on the way
  };
  enum Event : uint8_t {
    kStarted, ///< nothing is under way from before
    kForeseen, ///< the same, and the page is the one that was to be expected
    kCame, ///< to the mark: what was asked for before it was used
    kStrayed, ///< to a page that is not on the way
    kLost, ///< it has left the way: what was asked for goes unused
  };

  /// `next`, one for each slot, and `used`, one for each kGroup slots: zeroed.
  void attach(uint32_t *next, uint8_t *used) { next_ = next, used_ = used; }
  /// What was waited for after the page, or kNone.
  uint32_t after(uint32_t slot) const { return used_[slot / kGroup] ? next_[slot] - 1 : kNone; }
  /// Bytes of memory that the table takes.
  uint64_t bytes() const { return groups_ * kGroup * sizeof(uint32_t); }

  /// The program waits for a page, or comes to the mark. After all but kStrayed, more may be asked for: ask().
  Event waits(Way &, uint32_t slot);
  /// A window is to be asked for; `most`: pages that there is room for.
  void ask(Way &way, uint32_t most) const {
    way.left = std::min(way.window, most);
    way.before_mark = way.left / 2 + 1;
  }
  /// The next page to ask for, which is away; kNone: there is none. `away(slot)`.
  template <class Away> uint32_t next(const Way &way, Away away) const {
    uint32_t slot = after(way.end);
    for (uint32_t i = 0; slot != kNone && i < kPassed; ++i, slot = after(slot))
      if (away(slot)) return slot;
    return kNone;
  }
  /// Whether it is to be the mark.
  static bool next_is_mark(const Way &way) { return way.before_mark == 1; }
  /// It has been asked for. True: it is to be the mark.
  bool asked(Way &, uint32_t slot) const;

private:
  void note(uint32_t slot, uint32_t successor);

  uint32_t *next_ = nullptr; ///< of each slot, plus one; 0: not known
  uint8_t *used_ = nullptr; ///< of each group: there are some
  uint64_t groups_ = 0; ///< used
};

inline void Successions::note(uint32_t slot, uint32_t successor) {
  uint8_t &used = used_[slot / kGroup];
  groups_ += !used;
  used = 1;
  next_[slot] = successor + 1;
}

inline Successions::Event Successions::waits(Way &way, uint32_t slot) {
  if (slot == way.mark) {
    way.mark = kNone;
    way.strays = 0;
    way.window = std::min(way.window * 2, kMostWindow);
    return kCame;
  }
  if (way.mark != kNone && ++way.strays < kStrays) return kStrayed;
  const bool lost = way.mark != kNone, known = way.end != kNone;
  const bool foreseen = !lost && known && after(way.end) == slot;
  if (!lost && known && way.end != slot) note(way.end, slot);
  const uint32_t window = lost ? kFirstWindow : way.window;
  way = {};
  way.end = slot;
  way.window = window;
  return lost ? kLost : foreseen ? kForeseen : kStarted;
}

inline bool Successions::asked(Way &way, uint32_t slot) const {
  way.end = slot;
  --way.left;
  if (way.before_mark == 0 || --way.before_mark) return false;
  way.mark = slot;
  return true;
}

} // namespace pagecast::core
