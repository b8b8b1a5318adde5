// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/replacement.h"
#include "core/arithmetic.h"

#include <bit>

namespace pagecast::core {
namespace {
constexpr bool kBoth[] = {false, true};
constexpr uint64_t kNever = ~uint64_t{0};
} // namespace

void Replacement::attach(Link *links, uint32_t slots, uint16_t *groups) {
  links_ = links;
  groups_ = groups;
  groups_used_ = 0;
  slots_ = slots;
  active_ = aging_ = newcomers_ = kept_ = released_clean_ = all_released_ = 0;
  generation_ = 0;
  now_ = 0;
  walk_ = slots;
  for (uint32_t &n : released_) n = 0;
  for (uint32_t &lists : lists_in_use_) lists = 0;
  for (uint64_t &dues : due_in_use_) dues = 0;
  for (uint32_t i = 0; i < kLists; ++i) sentinels_[i] = {slots + i, slots + i, kFree, 0};
}

/// Notes whether there are slots in the list of a priority and a generation; of others it is not needed.
void Replacement::note_list(uint32_t sentinel, bool in_use) {
  const uint32_t list = sentinel - slots_ - 2;
  if (list >= kGenerationLists) return;
  uint32_t &lists = lists_in_use_[list / (kGenerations * 2)];
  const uint32_t bit = uint32_t{1} << list % (kGenerations * 2);
  lists = in_use ? lists | bit : lists & ~bit;
}

void Replacement::unlink(uint32_t slot) {
  Link &l = links_[slot];
  if (l.state == kFree) return;
  if (walk_ == slot) walk_ = l.next;
  link(l.prev).next = l.next;
  link(l.next).prev = l.prev;
  if (l.prev == l.next && l.prev >= slots_) // it was the only one
    note_list(l.prev, false);
  if (l.state == kActive) --active_;
  else if (l.state == kAging) --aging_;
  else if (l.state == kNew) --newcomers_;
  else if (l.state == kKept) --kept_;
  else {
    const unsigned level = l.state - kReleased;
    if (--released_[level] == 0 && level >= kPriorities)
      due_in_use_[(level - kPriorities) / 64] &= ~(uint64_t{1} << (level - kPriorities) % 64);
    --all_released_;
    released_clean_ -= !l.dirty;
  }
  l.state = kFree;
}

void Replacement::link_after(uint32_t slot, uint32_t where) {
  const uint32_t next = link(where).next;
  links_[slot].prev = where;
  links_[slot].next = next;
  link(where).next = slot;
  link(next).prev = slot;
}

/// To the tail of a list, from wherever it was.
void Replacement::append(uint32_t slot, uint32_t list, uint8_t state, uint32_t *count) {
  if (links_[slot].state == kFree) came(slot);
  unlink(slot);
  link_after(slot, link(list).prev);
  links_[slot].state = state;
  ++*count;
}

void Replacement::touch(uint32_t slot) { append(slot, slots_, kActive, &active_); }

void Replacement::insert_active(uint32_t slot, uint32_t newcomers, bool again) {
  append(slot, new_list(), kNew, &newcomers_);
  links_[slot].dirty = again;
  if (newcomers_ > newcomers) settle_newcomers(newcomers_ - newcomers);
}

void Replacement::settle_newcomers(uint32_t count) {
  for (; count && newcomers_; --count) {
    const uint32_t slot = link(new_list()).next;
    if (links_[slot].dirty) append(slot, kept_list(), kKept, &kept_);
    else touch(slot);
  }
}

void Replacement::keep(uint32_t slot, uint32_t most) {
  append(slot, kept_list(), kKept, &kept_);
  keep_at_most(most);
}

void Replacement::keep_at_most(uint32_t most) {
  while (kept_ > most) touch(link(kept_list()).next);
}

uint32_t Replacement::age(uint32_t *out, uint32_t max) {
  uint32_t n = 0;
  for (; n < max && active_; ++n) {
    const uint32_t slot = link(slots_).next;
    append(slot, aging_list(), kAging, &aging_);
    out[n] = slot;
  }
  return n;
}

uint32_t Replacement::walk() {
  if (walk_ == aging_list()) walk_ = link(slots_).next;
  if (walk_ == slots_) walk_ = link(kept_list()).next;
  if (walk_ == kept_list()) walk_ = link(new_list()).next;
  if (walk_ >= slots_) return kNone;
  const uint32_t slot = walk_;
  walk_ = links_[slot].next;
  return slot;
}

void Replacement::put(uint32_t slot, unsigned level, bool dirty) {
  if (links_[slot].state == kFree) return;
  unlink(slot);
  const uint32_t list = sentinel(level, generation_, dirty);
  link_after(slot, list); // the head is the next victim
  note_list(list, true);
  links_[slot].state = uint8_t(kReleased + level);
  links_[slot].dirty = dirty;
  released_clean_ += !dirty;
  if (released_[level]++ == 0 && level >= kPriorities)
    due_in_use_[(level - kPriorities) / 64] |= uint64_t{1} << (level - kPriorities) % 64;
  ++all_released_;
}

void Replacement::release(uint32_t slot, unsigned priority, bool dirty) {
  put(slot, unsigned(least(priority, kPriorities - 1)), dirty);
}

void Replacement::release_until(uint32_t slot, uint64_t due, bool dirty) {
  put(slot, kPriorities + unsigned(least(most(due, now_), now_ + kDues - 1) % kDues), dirty);
}

uint32_t Replacement::clean(uint32_t *out, uint32_t max, uint64_t soon) {
  uint32_t n = 0;
  for (; n < max; ++n) {
    const uint32_t slot = released_victim(true, soon);
    if (slot == kNone) break;
    put(slot, links_[slot].state - kReleased, false);
    out[n] = slot;
  }
  return n;
}

void Replacement::not_cleaned(uint32_t slot) {
  if (is_released(slot)) put(slot, links_[slot].state - kReleased, true);
}

void Replacement::remove(uint32_t slot) {
  if (links_[slot].state != kFree) went(slot);
  unlink(slot);
}

/// Moves all of list `from` in front of list `to`.
void Replacement::splice_front(uint32_t from, uint32_t to) {
  Link &f = link(from), &t = link(to);
  if (f.next == from) return;
  link(f.prev).next = t.next;
  link(t.next).prev = f.prev;
  link(f.next).prev = to;
  t.next = f.next;
  f.next = f.prev = from;
  note_list(from, false);
  note_list(to, true);
}

void Replacement::new_generation() {
  const unsigned oldest = (generation_ + 1) % kGenerations, second = (generation_ + 2) % kGenerations;
  for (unsigned p = 0; p < kPriorities; ++p)
    for (const bool dirty : kBoth) splice_front(sentinel(p, oldest, dirty), sentinel(p, second, dirty));
  generation_ = oldest;
}

uint32_t Replacement::first_of(unsigned level, bool dirty_only) const {
  if (level < kPriorities) { // the oldest generation first
    constexpr uint32_t kDirty = 0xaaaaaaaa;
    const int oldest = int((generation_ + 1) % kGenerations * 2);
    const uint32_t by_age = std::rotr(dirty_only ? lists_in_use_[level] & kDirty : lists_in_use_[level], oldest);
    if (by_age == 0) return kNone;
    return link(slots_ + 2 + level * kGenerations * 2 + uint32_t(std::countr_zero(by_age) + oldest) % (kGenerations * 2)).next;
  }
  for (const bool dirty : kBoth) {
    const uint32_t s = sentinel(level, generation_, dirty);
    if ((dirty || !dirty_only) && link(s).next != s) return link(s).next;
  }
  return kNone;
}

/// The last time in [now_, below) at which slots are due; `below` <= now_ + kDues. kNever: there is none.
uint64_t Replacement::last_due(uint64_t below) const {
  while (below > now_) {
    const unsigned bit = unsigned((below - 1) % kDues), in_word = bit % 64;
    const uint64_t here = due_in_use_[bit / 64] << (63 - in_word);
    const uint64_t skip = here ? unsigned(__builtin_clzll(here)) : in_word + 1;
    if (below - now_ <= skip) break;
    if (here) return below - 1 - skip;
    below -= skip;
  }
  return kNever;
}

uint32_t Replacement::released_victim(bool dirty_only, uint64_t soon) const {
  if (all_released_ == 0) return kNone;
  uint32_t slot = first_of(0, dirty_only);
  for (uint64_t due = now_ + kDues; slot == kNone && (due = last_due(due)) != kNever && due >= soon;)
    slot = first_of(kPriorities + unsigned(due % kDues), dirty_only);
  for (unsigned p = 1; slot == kNone && p < kPriorities; ++p) slot = first_of(p, dirty_only);
  return slot;
}

uint32_t Replacement::victim() const {
  const uint32_t slot = released_victim();
  if (slot != kNone) return slot;
  if (aging_) return link(aging_list()).next;
  if (active_) return link(slots_).next;
  if (kept_) return link(kept_list()).next;
  return newcomers_ ? link(new_list()).next : kNone;
}

uint32_t Replacement::pop_victims(uint32_t *out, uint32_t max, bool released_only) {
  uint32_t n = 0;
  for (; n < max; ++n) {
    const uint32_t slot = released_only ? released_victim() : victim();
    if (slot == kNone) break;
    remove(slot);
    out[n] = slot;
  }
  return n;
}

uint32_t Replacement::pop_newcomers(uint32_t *out, uint32_t max, uint32_t least) {
  uint32_t n = 0;
  for (; n < max && newcomers_ > least; ++n) {
    out[n] = link(new_list()).next;
    remove(out[n]);
  }
  return n;
}

bool Replacement::list_is_valid(uint32_t head, uint8_t state, uint32_t *count) const {
  uint32_t steps = 0;
  for (uint32_t at = head;;) {
    const uint32_t next = link(at).next;
    if (next >= slots_ + kLists || link(next).prev != at) return false;
    if (next == head) return true;
    if (next >= slots_ || links_[next].state != state || ++steps > slots_) return false;
    ++*count;
    at = next;
  }
}

bool Replacement::note_is_valid(unsigned level, unsigned generation, bool dirty) const {
  const uint32_t head = sentinel(level, generation, dirty);
  return level >= kPriorities || (lists_in_use_[level] >> (generation * 2 + dirty) & 1) == (link(head).next != head);
}

bool Replacement::is_valid(uint32_t slots) const {
  uint32_t listed = 0, in_use = 0, clean = 0;
  if (!list_is_valid(slots_, kActive, &listed) || listed != active_) return false;
  uint32_t aging = 0;
  if (!list_is_valid(aging_list(), kAging, &aging) || aging != aging_) return false;
  uint32_t newcomers = 0;
  if (!list_is_valid(new_list(), kNew, &newcomers) || newcomers != newcomers_) return false;
  uint32_t kept = 0;
  if (!list_is_valid(kept_list(), kKept, &kept) || kept != kept_) return false;
  listed += aging + newcomers + kept;
  uint32_t released = 0;
  for (unsigned level = 0; level < kLevels; ++level) {
    uint32_t n = 0;
    for (unsigned e = 0; e < (level < kPriorities ? kGenerations : 1); ++e)
      for (const bool dirty : kBoth)
        if (!list_is_valid(sentinel(level, e, dirty), uint8_t(kReleased + level), &n) || !note_is_valid(level, e, dirty))
          return false;
    const unsigned due = level - kPriorities;
    if (n != released_[level] || (level >= kPriorities && (due_in_use_[due / 64] >> due % 64 & 1) != (n != 0))) return false;
    released += n;
  }
  if (released != all_released_) return false;
  listed += released;
  uint32_t in_group = 0;
  for (uint32_t s = 0; s < slots_ && s < slots; ++s) {
    if (links_[s].state >= kReleased + kLevels) return false;
    in_group = (s % kGroup ? in_group : 0) + (links_[s].state != kFree);
    if (groups_ && s % kGroup == kGroup - 1 && (groups_[s / kGroup] & ~kUsed) != in_group) return false;
    in_use += links_[s].state != kFree;
    clean += links_[s].state >= kReleased && !links_[s].dirty;
  }
  return in_use == listed && clean == released_clean_;
}

} // namespace pagecast::core
