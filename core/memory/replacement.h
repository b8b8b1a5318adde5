// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which resident pages are given up. Pages are slots: numbers that the caller assigns.
//
//   1. released pages:
//      a. those of priority 0, which no nest wants again as far as is known,
//      b. those that a later nest is expected to want (core/memory/forecast.h), the one wanted last first, in
//         steps of a `due`, or rather of the rank that follows from it; what was wanted earlier than now, but
//         did not come, is first of all of these,
//      c. those of priority 1 and more, which their own nest wants again, the lowest priority first;
//      within a priority the oldest generation first (a generation = one execution of a nest);
//      within a generation or a due clean pages before dirty ones, which cost a write;
//      then the most recently released first: a repeated sweep over more than memory then keeps
//      a prefix resident instead of losing every page just before it is wanted again;
//   2. aging pages, the one that began to age first: formerly active ones that are on probation. The caller
//      lets hints for them through again, so that those still wanted come back by touch() (second chance);
//   3. active pages, the one that became active first;
//   4. kept pages, the one that was kept first: shown to be used again, and apart from what comes and goes (kept_share.h);
//   5. newcomers: the last active pages to come, while nothing has been asked of them again. The caller says how many there
//      may be, and may give up their oldest instead of 2 to 4 (core/memory/which_end.h): what came before them stays then.
//
// All operations are O(1); pop_victims is O(victims). Not thread-safe: the caller holds its own lock.
// Each list is circular through a sentinel, so that a slot leaves its list without knowing which one it is;
// that is what lets old generations merge in O(1).
#pragma once
#include <cstdint>

namespace pagecast::core {

class Replacement {
public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr unsigned kPriorities = 8; ///< greater ones count as the greatest
  static constexpr unsigned kGenerations = 16;    ///< kept apart; older ones merge into the oldest
  static constexpr unsigned kDues = 192;     ///< how far ahead dues are told apart; a multiple of 64

  struct Link {
    uint32_t prev, next;
    uint8_t state; ///< kFree, kActive, kAging, kNew, kKept, or kReleased + priority, or + kPriorities + due modulo kDues
    uint8_t dirty; ///< released as such; of a newcomer: it came as `again`
  };
  static_assert(sizeof(Link) <= 12);
  static_assert(kDues % 64 == 0 && 5 + kPriorities + kDues <= 256, "they are states of a byte");

  Replacement() = default;
  Replacement(const Replacement &) = delete; // the links may be shared memory; two owners would differ
  Replacement &operator=(const Replacement &) = delete;

  /// `links`: one per slot, zeroed (a zeroed link is a free slot); at most 2^31 slots. `groups`: one for each kGroup slots,
  /// zeroed; without them is_idle() says no.
  void attach(Link *links, uint32_t slots, uint16_t *groups = nullptr);

  // --- memory of the links ---
  static constexpr uint32_t kGroup = 1024;
  /// All of the group's slots are free, but have not always been: its links may be made zero again, and forgotten.
  bool is_idle(uint32_t group) const { return groups_ && groups_[group] == kUsed; }
  void forget(uint32_t group) {
    groups_[group] = 0;
    --groups_used_;
  }
  /// Groups whose links are not all as they were at first.
  uint32_t groups_used() const { return groups_used_; }

  /// It has come to memory, and is a newcomer; so many of them there may be. The oldest ones are like any active page then, or
  /// kept if they came as `again`.
  void insert_active(uint32_t slot, uint32_t newcomers = 0, bool again = false);
  /// To the tail of the active list, from wherever it was.
  void touch(uint32_t slot);
  /// Behind all others, as the last newcomer, however many there may be: each of the others comes to be a victim before it.
  void go_last(uint32_t slot) { insert_active(slot, kNone); }
  /// The same to the tail of the kept pages; of these the first ones become the youngest active while there are more than `most`.
  void keep(uint32_t slot, uint32_t most);
  void keep_at_most(uint32_t most);
  /// Puts up to `max` of the longest active slots on probation; writes them to `out` and returns how many.
  uint32_t age(uint32_t *out, uint32_t max);
  /// Into the present generation; a free slot stays free. `dirty`: giving it up costs a write.
  void release(uint32_t slot, unsigned priority, bool dirty = false);
  /// Released, but expected to be wanted at `due`, in units of the caller's; beyond kDues from now counts as that.
  void release_until(uint32_t slot, uint64_t due, bool dirty = false);
  /// What is due earlier than `now` was not wanted. Never goes back.
  void set_now(uint64_t now) { now_ = now; }
  /// Makes up to `max` of the next dirty victims clean ones of the present generation, writes them to `out` and
  /// returns how many: the caller is about to write them. Those wanted before `soon` are left alone.
  uint32_t clean(uint32_t *out, uint32_t max, uint64_t soon = 0);
  /// A dirty victim that cannot go now: released, dirty, and the next to go of those in the present generation.
  void put_back(uint32_t slot) {
    touch(slot);
    release(slot, 0, true);
  }
  /// It is dirty all the same: back to where clean() took it from.
  void not_cleaned(uint32_t slot);
  /// walk() goes through the slots that are given up after all released ones, in that order: start_walk() goes back to the
  /// first, walk() returns the next or kNone. What becomes active meanwhile comes at the end.
  void start_walk() { walk_ = link(aging_list()).next; }
  uint32_t walk();
  /// The slot becomes free.
  void remove(uint32_t slot);
  void new_generation();

  /// The slot to give up next, or kNone.
  uint32_t victim() const;
  /// Frees up to `max` slots, in order, into `out`; returns how many. `released_only`: leaves the active
  /// ones.
  uint32_t pop_victims(uint32_t *out, uint32_t max, bool released_only = false);

  /// The same of the oldest newcomers; leaves `least` of them.
  uint32_t pop_newcomers(uint32_t *out, uint32_t max, uint32_t least);
  /// So many of the oldest newcomers are none any more.
  void settle_newcomers(uint32_t count);

  /// Without newcomers and kept pages.
  uint32_t active() const { return active_; }
  uint32_t kept() const { return kept_; }
  uint32_t newcomers() const { return newcomers_; }
  uint32_t aging() const { return aging_; }
  uint32_t released() const { return all_released_; }
  /// Released slots that go without a write.
  uint32_t released_clean() const { return released_clean_; }
  uint32_t released(unsigned priority) const { return released_[priority]; }
  bool is_released(uint32_t slot) const { return links_[slot].state >= kReleased; }
  bool is_aging(uint32_t slot) const { return links_[slot].state == kAging; }
  bool is_free(uint32_t slot) const { return links_[slot].state == kFree; }

  /// Checks every invariant, of the first `slots` slots; the others have never been used. In O(slots). For tests.
  bool is_valid(uint32_t slots = kNone) const;

private:
  static constexpr uint8_t kFree = 0, kActive = 1, kAging = 2, kNew = 3, kKept = 4, kReleased = 5;
  static constexpr unsigned kLevels = kPriorities + kDues; ///< priorities, then dues modulo kDues
  static constexpr uint32_t kGenerationLists = kPriorities * kGenerations * 2;
  static constexpr uint32_t kLists = 2 + kGenerationLists + kDues * 2 + 2;

  uint32_t sentinel(unsigned level, unsigned generation, bool dirty) const {
    return slots_ + 2 +
           (level < kPriorities ? (level * kGenerations + generation) * 2 : kGenerationLists + (level - kPriorities) * 2) + dirty;
  }
  void note_list(uint32_t sentinel, bool in_use);
  void put(uint32_t slot, unsigned level, bool dirty);
  uint64_t last_due(uint64_t below) const;
  uint32_t first_of(unsigned level, bool dirty_only) const;
  Link &link(uint32_t id) { return id < slots_ ? links_[id] : sentinels_[id - slots_]; }
  const Link &link(uint32_t id) const { return id < slots_ ? links_[id] : sentinels_[id - slots_]; }
  void unlink(uint32_t slot);
  void link_after(uint32_t slot, uint32_t where);
  uint32_t aging_list() const { return slots_ + 1; }
  uint32_t new_list() const { return slots_ + kLists - 1; }
  uint32_t kept_list() const { return slots_ + kLists - 2; }
  void append(uint32_t slot, uint32_t list, uint8_t state, uint32_t *count);
  void splice_front(uint32_t from, uint32_t to);
  uint32_t released_victim(bool dirty_only = false, uint64_t soon = 0) const;
  bool list_is_valid(uint32_t sentinel, uint8_t state, uint32_t *count) const;
  bool note_is_valid(unsigned level, unsigned generation, bool dirty) const;

  static constexpr uint16_t kUsed = 1u << 15; ///< in groups_; the rest counts the slots that are not free
  void came(uint32_t slot) {
    if (!groups_) return;
    uint16_t &group = groups_[slot / kGroup];
    groups_used_ += !(group & kUsed);
    group = uint16_t((group | kUsed) + 1);
  }
  void went(uint32_t slot) {
    if (groups_) --groups_[slot / kGroup];
  }

  Link *links_ = nullptr;
  uint16_t *groups_ = nullptr;
  uint32_t groups_used_ = 0;
  uint32_t slots_ = 0;
  uint32_t active_ = 0, aging_ = 0, newcomers_ = 0, kept_ = 0, released_clean_ = 0;
  uint32_t released_[kLevels] = {};
  static_assert(kGenerations * 2 == 32);
  uint32_t lists_in_use_[kPriorities] = {}; ///< bit 2 * generation + dirty: there are slots in the list
  uint64_t due_in_use_[kDues / 64] = {}; ///< bit d: there are slots that are due at d modulo kDues
  uint32_t all_released_ = 0;
  uint64_t now_ = 0;
  uint32_t walk_ = 0; ///< the next one, or the sentinel at whose list's end the walk is
  unsigned generation_ = 0; ///< the present one, modulo kGenerations; the next in the ring is the oldest
  Link sentinels_[kLists] = {}; ///< ids from slots_ on: active, aging, priority by priority, dues, kept, newcomers
};

} // namespace pagecast::core
