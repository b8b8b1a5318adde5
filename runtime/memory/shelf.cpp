// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/shelf.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint32_t kLeast = 64; ///< pages; a smaller shelf is none
constexpr uint32_t kSteps = 16; ///< in which it grows
/// What is written ahead: of the oldest pages, as a part of all; when so many more have come.
constexpr uint32_t kWrittenShare = 4, kLookShare = 8;
constexpr uint64_t kFaultNs = 20'000; ///< what a fault takes beside its service here: the program's thread stops, and wakes again
constexpr uint64_t kMostTakeNs = 10'000; ///< what takes longer for a page was interrupted
constexpr uint32_t kCopied = 32; ///< pages in one call: what os::copy_parts() is quick with
} // namespace

// --- memory ----------------------------------------------------------------------------------------

/// Pages that it should hold.
uint32_t Shelf::target() const {
  if (limit_.has_others()) return 0; // of a fork: what both have of this would be copied when it is used
  const uint32_t pages = std::min((limit_.pages() + grown_) / core::SecondChance::kShare, most_);
  return pages < kLeast || sandboxed() ? 0 : pages; // a sandbox need not allow the call that copies
}

void Shelf::start(uint64_t budget) {
  const auto pages = static_cast<uint32_t>(std::min<uint64_t>(2 * (budget >> memory_.shift) / core::SecondChance::kShare, kMost));
  buffer_ = static_cast<char *>(os::reserve(memory_.bytes(pages)));
  entry_ = static_cast<Entry *>(os::reserve(pages * sizeof(Entry)));
  most_ = buffer_ && entry_ ? pages : 0;
}

bool Shelf::open() {
  capacity_ = target();
  return capacity_ != 0;
}

/// Gives all memory back. Nothing is here any more.
void Shelf::close() {
  const iovec memory[] = {{buffer_, memory_.bytes(capacity_)}, {entry_, os::page_up(capacity_ * sizeof(Entry))}};
  os::discard(memory, 2);
  capacity_ = grown_ = taken_ = 0;
  closing_ = false;
  free_ = waiting_ = {};
  memory_.shelf_bytes = 0;
  limit_.account();
}

/// By memory that is free now: pages that are given up for it are copied here before their own memory is free.
void Shelf::grow() {
  const uint32_t step = std::min({std::max(capacity_ / kSteps, 1u), capacity_ - grown_, limit_.free_pages()});
  if (step == 0) return;
  for (const uint32_t end = grown_ + step; grown_ < end; ++grown_) {
    entry_[grown_].state = Entry::kFree;
    append(free_, grown_);
  }
  memory_.shelf_bytes = memory_.bytes(grown_) + grown_ * sizeof(Entry);
  limit_.account();
}

void Shelf::keep_up() {
  const core::SecondChance::Costs costs{store_.latency_ns() + kFaultNs, kFaultNs + take_ns_, take_ns_};
  memory_.chance.judge(memory_.statistics.not_prefetched, memory_.used, costs);
  memory_.statistics.second_chance.switched_off = memory_.chance.switched_off();
  if (!capacity_) return;
  if (!memory_.chance.pays() || target() < capacity_ / 2) closing_ = true;
  if (closing_) {
    while (waiting_.first != kNone && entry_[waiting_.first].state == Entry::kWaits && !entry_[waiting_.first].dirty)
      drop(waiting_.first);
    if (waiting_.count == 0 && left_ == 0) return close();
  } else if (free_.count == 0 && grown_ < capacity_) {
    grow();
  }
  // Pages that could not be written when that was last tried are in the way: as none is taken, none would be counted either.
  if (closing_ || lacks_place_ || taken_ > grown_ / kLookShare) write_next();
}

// --- places ----------------------------------------------------------------------------------------

void Shelf::append(List &list, uint32_t place) {
  entry_[place].prev = list.last;
  entry_[place].next = kNone;
  (list.last == kNone ? list.first : entry_[list.last].next) = place;
  list.last = place;
  ++list.count;
}

void Shelf::unlink(List &list, uint32_t place) {
  const Entry &e = entry_[place];
  (e.prev == kNone ? list.first : entry_[e.prev].next) = e.next;
  (e.next == kNone ? list.last : entry_[e.next].prev) = e.prev;
  --list.count;
}

void Shelf::free(uint32_t place) {
  unlink(waiting_, place);
  entry_[place].state = Entry::kFree;
  append(free_, place);
}

/// The page is as in the backing store, and goes.
void Shelf::drop(uint32_t place) {
  const Entry &e = entry_[place];
  memory_.chance.waited(e.again, false);
  memory_[e.slot].state = PageState::kAbsent;
  memory_[e.slot].flags = 0;
  memory_[e.slot].again = true;
  memory_.went(e.slot);
  ++memory_.statistics.evicted_clean;
  discards_.gone(e.slot);
  free(place);
}

/// The oldest page goes for another. False: it is to be written first.
bool Shelf::make_place() {
  if (free_.count) return true;
  if (waiting_.first == kNone || entry_[waiting_.first].state != Entry::kWaits || entry_[waiting_.first].dirty)
    return lacks_place_ = true, false;
  drop(waiting_.first);
  return true;
}

// --- pages -----------------------------------------------------------------------------------------

/// Whether a page is to wait here.
bool Shelf::wants(uint32_t slot) const {
  const Page &p = memory_[slot];
  if (p.site || (p.flags & (kPrefetched | kNoBacking | kDone))) return false;
  return p.state == PageState::kClean || p.state == PageState::kDirty;
}

uint32_t Shelf::take(uint32_t *slots, uint32_t count) {
  if (!memory_.options->second_chance || !memory_.chance.pays() || closing_ || sandboxed() || (!capacity_ && !open()))
    return count;
  const uint64_t begun = os::now_ns();
  uint32_t left = 0, took = 0, taken[kCopied], place[kCopied], n = 0;
  const auto take_those = [&] {
    const bool copied = n && copy(taken, place, n);
    for (uint32_t i = 0; i < n; ++i) {
      if (copied) keep(taken[i], place[i]);
      else append(free_, place[i]), slots[left++] = taken[i];
    }
    took += copied ? n : 0;
    n = 0;
  };
  for (uint32_t i = 0; i < count; ++i) {
    const PagedRegion *r = wants(slots[i]) ? memory_.region_of(slots[i]) : nullptr;
    if (!r || r->draining || r->origin.is_map() || !make_place()) {
      slots[left++] = slots[i];
      continue;
    }
    taken[n] = slots[i], place[n] = free_.first;
    unlink(free_, place[n++]);
    if (n == kCopied) take_those();
  }
  take_those();
  std::sort(slots, slots + left);
  if (took) {
    const uint64_t each = std::min((os::now_ns() - begun) / took, kMostTakeNs);
    take_ns_ = take_ns_ ? (take_ns_ * 15 + each) / 16 : each;
    taken_ += took;
    memory_.statistics.second_chance.waited += took;
  }
  return left;
}

/// The pages' contents are on the shelf then, and nobody stores to them. False: they cannot be had.
bool Shelf::copy(const uint32_t *slots, const uint32_t *places, uint32_t count) {
  iovec to[kCopied], from[kCopied];
  for (uint32_t i = 0; i < count; ++i) {
    to[i] = {contents(places[i]), memory_.page};
    from[i] = {reinterpret_cast<void *>(memory_.pages.address(slots[i])), memory_.page};
  }
  const auto protect = [&](bool on) {
    for (uint32_t i = 0, n; i < count; i += n) {
      for (n = 1; i + n < count && slots[i + n] == slots[i] + n && memory_[slots[i + n]].state == memory_[slots[i]].state;) ++n;
      if (memory_[slots[i]].state != PageState::kDirty) continue;
      if (on) placement_.protect(slots[i], n);
      else placement_.unprotect(slots[i], n);
    }
  };
  protect(true);
  const bool copied = os::copy_parts(to, from, count);
  if (!copied) protect(false);
  return copied;
}

void Shelf::keep(uint32_t slot, uint32_t place) {
  Page &p = memory_[slot];
  Entry &e = entry_[place];
  e.state = Entry::kWaits, e.slot = slot, e.dirty = p.state == PageState::kDirty, e.again = p.again;
  append(waiting_, place);
  p.state = PageState::kShelved;
  p.flags = 0;
  p.wanted_by = low_bits(place, kWantedByBits);
  memory_.statistics.second_chance.waited_again += e.again;
  discards_.add_shelved(slot, 1);
}

/// The page is back where the program sees it.
void Shelf::note_return(uint32_t slot, const Entry &e) {
  memory_.chance.waited(e.again, true);
  ++memory_.statistics.second_chance.came_back;
  memory_.statistics.second_chance.came_back_again += e.again;
  memory_[slot].again = true;
  memory_[slot].wanted_by = 0;
}

void Shelf::show(uint32_t slot, bool write) {
  Page &p = memory_[slot];
  const uint32_t place = p.wanted_by;
  Entry &e = entry_[place];
  const bool writing = e.state == Entry::kWriting, writable = write || (e.dirty && !writing);
  if (placement_.place(slot, contents(place), 1, writable) == 0) return; // its mapping went away under us
  note_return(slot, e);
  p.state = writing ? PageState::kWriting : writable ? PageState::kDirty : PageState::kClean;
  p.flags = writing && writable ? kRedirtied : 0;
  if (writing) {
    unlink(waiting_, place);
    e.state = Entry::kLeft;
    ++left_;
  } else {
    free(place);
  }
  ++memory_.used;
  memory_.end.wanted(slot, true); // it never went
  memory_.keep(slot);
  memory_.residency.set(memory_.extent(slot, 1));
  placement_.end_wait(slot, 1);
}

void Shelf::put_back(uint32_t slot) {
  const uint32_t place = memory_[slot].wanted_by;
  note_return(slot, entry_[place]);
  free(place);
}

// --- writing ---------------------------------------------------------------------------------------

/// Writes the oldest pages that are dirty, many at a time, so that they can go when their places are needed.
void Shelf::write_next() {
  taken_ = 0;
  lacks_place_ = false;
  if (!closing_ && free_.count > grown_ / kLookShare) return;
  uint32_t left = closing_ ? waiting_.count : grown_ / kWrittenShare;
  for (uint32_t place = waiting_.first; place != kNone && left; --left) {
    const uint32_t next = entry_[place].next;
    if (entry_[place].state == Entry::kWaits && entry_[place].dirty) {
      const uint32_t n = write_run(place);
      if (n == 0) return;
      place += n - 1;
      left -= std::min(left - 1, n - 1);
      place = entry_[place].next;
    } else {
      place = next;
    }
  }
}

/// Starts to write a page with those that follow it in every way. Returns how many; 0: not now.
uint32_t Shelf::write_run(uint32_t place) {
  constexpr uint32_t kMostWriting = 256; // a read waits for all that was queued before it
  const uint32_t slot = entry_[place].slot;
  PagedRegion *r = memory_.region_of(slot);
  if (!r || r->draining || !store_.may_request(1) || store_.writes_are_refused() || store_.pages_writing() >= kMostWriting)
    return 0;
  const uint32_t most = std::min(store_.io_pages(), memory_.end_of(*r) - slot);
  uint32_t n = 1;
  while (n < most && place + n < grown_ && entry_[place + n - 1].next == place + n && entry_[place + n].slot == slot + n &&
         entry_[place + n].dirty && entry_[place + n].state == Entry::kWaits)
    ++n;
  const int file = store_.file_for(slot, n, memory_.pages.high_water());
  if (file < 0) return 0;
  store_.move_to(static_cast<unsigned>(file), slot, n);
  store_.write_shelved(slot, n, reinterpret_cast<uint64_t>(contents(place)), place);
  ++r->in_flight;
  for (uint32_t i = place; i < place + n; ++i) entry_[i].state = Entry::kWriting;
  return n;
}

void Shelf::written(const Request &q, bool good) {
  for (uint32_t place = q.staging; place < q.staging + q.pages; ++place) {
    Entry &e = entry_[place];
    if (e.state == Entry::kLeft) {
      e.state = Entry::kFree;
      --left_;
      append(free_, place);
      continue;
    }
    e.state = Entry::kWaits;
    if (good) e.dirty = false, ++memory_.statistics.second_chance.written;
  }
}

const char *Shelf::broken_invariant() const {
  uint32_t in_state[4] = {};
  for (uint32_t i = 0; i < grown_; ++i) {
    const Entry &e = entry_[i];
    ++in_state[e.state];
    if ((e.state == Entry::kWaits || e.state == Entry::kWriting) &&
        (memory_[e.slot].state != PageState::kShelved || memory_[e.slot].wanted_by != i))
      return "a place on the shelf is of a page that is not there";
  }
  if (in_state[Entry::kFree] != free_.count || in_state[Entry::kLeft] != left_ ||
      in_state[Entry::kWaits] + in_state[Entry::kWriting] != waiting_.count)
    return "the places on the shelf are miscounted";
  return nullptr;
}

} // namespace pagecast
