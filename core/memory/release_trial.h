// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether releases of a group pay. A nest releases what its own references have passed; another reference, for which there are no
// hints, may be in the same pages:
//
//     for (i..n) { label[i] = i;  while (label[r] != r) r = label[r]; }      labels found by going back
//
// Pages go then that are wanted at once, and the program waits for them. So of one page in kSample it is noted when it was
// released, and a fault on it that comes before half of memory has gone counts as a regret: with the page in its old place it
// would have been there. A group of which one such page in kRegrets is regretted releases nothing for a while, which
// doubles each time that it is found so again. A page that a hint asks for again before it has gone does not count: its release
// has gained nothing.
//
// Why one in 16: a regret is a wait for one page alone, a release that was right saves no more than a page's share of a long
// read or write. In ten solvers and kernels whose releases are right, at most one in 1,000 was regretted; in a union-find one in
// eight, which took 0.94 s instead of 0.33.
//
// Time is counted in pages that went. Not thread-safe.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

template <unsigned kGroups> class ReleaseTrial {
public:
  static constexpr uint32_t kSample = 16; ///< one page in so many is noted, by its number
  static constexpr uint32_t kRegrets = 16; ///< noted releases to one regret, where releases do not pay
  static constexpr uint32_t kLeastRegrets = 8; ///< before anything is decided
  static constexpr uint32_t kFirstPause = 256, kMostPause = 1u << 15; ///< noted pages that are not released then

  /// Whether the group's pages are to be released now. If not, they are better kept.
  bool pays(unsigned group) const { return group_[group].pause == 0; }
  /// A page of the group is released, or would be if that paid; `gone`: pages that have gone so far.
  void passed(unsigned group, uint32_t slot, uint64_t gone) {
    const uint32_t hash = hash_of(slot);
    if (hash >= kSampled) return;
    Group &g = group_[group];
    if (g.pause) {
      --g.pause;
      return;
    }
    if (++g.released == kHalved) g.released /= 2, g.regretted /= 2, g.next_pause = std::max(g.next_pause / 2, kFirstPause);
    note_[hash >> kNoteShift] = {slot, static_cast<uint16_t>(group), true, static_cast<uint32_t>(gone)};
  }
  /// The page is asked for again, and has not gone.
  void rescued(uint32_t slot) {
    Note *n = note_of(slot);
    if (!n) return;
    n->used = false;
    Group &g = group_[n->group];
    if (g.released) --g.released; // of those before a pause nothing is left
  }
  /// The program waits for the page. `most`: pages that may be in memory. True: its release is regretted.
  bool faulted(uint32_t slot, uint64_t gone, uint32_t most) {
    Note *n = note_of(slot);
    if (!n) return false;
    n->used = false;
    if (static_cast<uint32_t>(gone) - n->gone > most / 2) return false;
    Group &g = group_[n->group];
    if (++g.regretted >= kLeastRegrets && g.regretted * kRegrets >= g.released) {
      g.pause = std::max(g.next_pause, kFirstPause);
      g.next_pause = std::min(2 * g.pause, kMostPause);
      g.released = g.regretted = 0;
    }
    return true;
  }

private:
  static constexpr uint32_t kSampled = 1u << 28, kNoteShift = 17, kNotes = kSampled >> kNoteShift;
  static constexpr uint32_t kHalved = 1024; ///< noted releases, after which the older ones count half
  static_assert((uint64_t{1} << 32) / kSampled == kSample);
  static uint32_t hash_of(uint32_t slot) { return slot * 2654435761u; }

  struct Note {
    uint32_t slot;
    uint16_t group;
    bool used;
    uint32_t gone; ///< pages that had gone by then, modulo 2^32
  };
  struct Group {
    uint32_t released, regretted; ///< noted pages
    uint32_t pause, next_pause;
  };
  /// What was noted of the page's release; NULL: nothing.
  Note *note_of(uint32_t slot) {
    const uint32_t hash = hash_of(slot);
    if (hash >= kSampled) return nullptr;
    Note &n = note_[hash >> kNoteShift];
    return n.used && n.slot == slot ? &n : nullptr;
  }

  Note note_[kNotes] = {};
  Group group_[kGroups] = {};
};

} // namespace pagecast::core
