// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/shelf.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint32_t kLeast = 64; ///< pages' memory; a smaller shelf is none
constexpr uint32_t kSteps = 16; ///< in which it grows
constexpr uint32_t kPlacesPerPage = 4; ///< of memory, for which there is address space
/// What is written ahead: of the oldest pages, as a part of all; when so many more have come.
constexpr uint32_t kWrittenShare = 4, kLookShare = 8;
constexpr uint32_t kGivenBack = 64; ///< pages, in one turn of the loop
constexpr uint32_t kPassed = 4096; ///< pages that are passed over at a time
/// What a fault takes beside its service here: the program's thread stops, and wakes again. Less where it is attended.
constexpr uint64_t kFaultNs = 20'000, kAttendedNs = 4'000;
/// What the pager's thread does for a page that is read, beside the wait: the request, the page that goes for it, and its write.
constexpr uint64_t kReadNs = 20'000;
constexpr uint32_t kSampled = 8; ///< one in so many pages that are shown is timed

/// Of what was measured lately. Of the thread's own time: one of the idle class stands back while the program runs.
void follow_mean(uint64_t &mean, uint64_t ns) { mean = mean ? (mean * 15 + ns) / 16 : ns; }
} // namespace

// --- memory ----------------------------------------------------------------------------------------

/// Bytes of memory that it should take.
uint64_t Shelf::target(double share) const {
  if (limit_.has_others()) return 0; // of a fork: what both have of this would be copied when it is used
  if (sandboxed()) return 0; // a sandbox need not allow the call that copies
  const double all = double(memory_.bytes(limit_.pages()) + packed_.bytes());
  const auto bytes = static_cast<uint64_t>(all * share);
  return bytes < memory_.bytes(kLeast) ? 0 : bytes;
}

void Shelf::start(uint64_t budget) {
  const uint64_t most = std::min(budget / core::SecondChance::kMostShare, memory_.bytes(kMost));
  const auto places = static_cast<uint32_t>(std::min<uint64_t>((most >> memory_.shift) * kPlacesPerPage, kMost));
  copied_ = static_cast<char *>(os::reserve(memory_.bytes(kCopied + kWritten)));
  entry_ = static_cast<Entry *>(os::reserve(os::page_up(places * sizeof(Entry))));
  packed_.compress(memory_.options->compress);
  most_places_ = packed_.start(most, memory_.page) && copied_ && entry_ ? places : 0;
}

bool Shelf::open() {
  share_ = memory_.chance.share();
  capacity_ = most_places_ ? target(share_) : 0;
  return capacity_ != 0;
}

void Shelf::account() {
  memory_.shelf_bytes = capacity_ ? packed_.bytes() + places_ * sizeof(Entry) + memory_.bytes(kCopied + kWritten) : 0;
  limit_.account();
}

/// Gives all memory back. Nothing is here any more.
void Shelf::close() {
  const iovec memory[] = {{copied_, memory_.bytes(kCopied + kWritten)}, {entry_, os::page_up(places_ * sizeof(Entry))}};
  os::discard(memory, 2);
  packed_.clear();
  places_ = waiting_ = taken_ = 0;
  free_ = first_ = last_ = kNone;
  capacity_ = 0;
  closing_ = false;
  account();
}

/// By memory that is free now: pages that are given up for it are copied here before their own memory is free.
void Shelf::grow() {
  const uint64_t left = capacity_ - std::min(capacity_, packed_.bytes()), step = std::max(capacity_ / kSteps, memory_.page);
  if (packed_.grow(std::min({step, left, memory_.bytes(limit_.free_pages())}))) account();
}

void Shelf::keep_up() {
  const uint64_t fault_ns = memory_.attendance.attends() ? kAttendedNs : kFaultNs;
  const core::SecondChance::Costs costs{store_.latency_ns() + fault_ns + kReadNs, fault_ns + show_ns_ + take_ns_, take_ns_,
                                        packed_.ratio(), waiting_};
  memory_.chance.judge(memory_.statistics.not_prefetched, memory_.used, costs);
  memory_.statistics.second_chance.switched_off = memory_.chance.switched_off();
  if (!capacity_) return;
  const bool pays = memory_.chance.pays();
  const uint32_t pace_now = pace();
  closing_ |= target(share_) < capacity_ / 2;
  if (closing_ || !pays) {
    if (closing_) drain(waiting_);
    else give_back(2 * pace_now);
    if (waiting_ == 0 && being_written_ == 0) close();
    return;
  }
  const double share = memory_.chance.share();
  capacity_ = share < share_ ? target(share) : std::max(capacity_, target(share));
  share_ = share;
  if (packed_.bytes() > capacity_ + capacity_ / kSteps) shrink(), give_back(pace_now);
  else if (packed_.room() < memory_.bytes(kCopied)) grow();
  // Pages that could not be written when that was last tried are in the way: as none is taken, none would be counted either.
  if (lacks_place_ || taken_ > waiting_ / kLookShare) write_ahead();
}

/// Gives memory back, if enough is free.
void Shelf::shrink() {
  const auto lower = [this] {
    for (uint32_t place = first_; place != kNone; place = entry_[place].next) packed_.lower(entry_[place].packed);
  };
  if (packed_.shrink(capacity_, lower)) account();
}

/// How many pages have come here, or have gone from memory, since this was last asked.
uint32_t Shelf::pace() {
  const uint64_t now = memory_.gone() + memory_.statistics.second_chance.waited;
  const uint64_t n = now - paced_;
  paced_ = now;
  return static_cast<uint32_t>(std::min<uint64_t>(n, kGivenBack));
}

/// Gives up to `most` pages up, the oldest; those that are dirty when they have been written.
void Shelf::drain(uint32_t most) {
  for (; most && first_ != kNone && entry_[first_].state == Entry::kWaits && !entry_[first_].dirty; --most) drop(first_);
  if (most) write_next(most);
}

/// The same, but those that go so are not counted by pace().
void Shelf::give_back(uint32_t pages) {
  const uint64_t gone = memory_.gone();
  if (pages) drain(pages);
  paced_ += memory_.gone() - gone;
}

// --- places ----------------------------------------------------------------------------------------

/// There is one: room for its contents comes from make_room().
uint32_t Shelf::new_place() {
  if (free_ == kNone) return places_++;
  const uint32_t place = free_;
  free_ = entry_[place].next;
  return place;
}

void Shelf::append(uint32_t place) {
  entry_[place].prev = last_;
  entry_[place].next = kNone;
  (last_ == kNone ? first_ : entry_[last_].next) = place;
  last_ = place;
  ++waiting_;
}

void Shelf::unlink(uint32_t place) {
  const Entry &e = entry_[place];
  (e.prev == kNone ? first_ : entry_[e.prev].next) = e.next;
  (e.next == kNone ? last_ : entry_[e.next].prev) = e.prev;
  --waiting_;
}

void Shelf::free(uint32_t place) {
  Entry &e = entry_[place];
  unlink(place);
  packed_.drop(e.packed);
  e.state = Entry::kFree;
  e.next = free_;
  free_ = place;
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

/// The oldest page that may go now. While nothing can be written, those that would have to be first are passed over: memory may hold
/// no other clean pages than those here.
uint32_t Shelf::oldest_to_go() const {
  const auto may_go = [this](uint32_t place) { return entry_[place].state == Entry::kWaits && !entry_[place].dirty; };
  uint32_t place = first_;
  if (store_.writes_are_refused())
    for (uint32_t i = 0; i < kPassed && place != kNone && !may_go(place); ++i) place = entry_[place].next;
  return place != kNone && may_go(place) ? place : kNone;
}

/// The oldest pages go for others. False: one is to be written first.
bool Shelf::make_room(uint64_t bytes) {
  while (packed_.room() < bytes || waiting_ + kCopied >= most_places_) {
    const uint32_t place = oldest_to_go();
    if (place == kNone) return lacks_place_ = true, false;
    drop(place);
  }
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
  const uint64_t begun = os::thread_cpu_ns();
  const uint32_t places = places_;
  uint32_t left = 0, took = 0, taken[kCopied], n = 0;
  const auto take_those = [&] {
    const bool copied_all = n && copy(taken, n);
    for (uint32_t i = 0; i < n; ++i) {
      if (copied_all) keep(taken[i], new_place(), copied(i));
      else slots[left++] = taken[i];
    }
    took += copied_all ? n : 0;
    n = 0;
  };
  for (uint32_t i = 0; i < count; ++i) {
    const PagedRegion *r = wants(slots[i]) ? memory_.region_of(slots[i]) : nullptr;
    if (!r || r->draining || r->origin.is_map() || !make_room(memory_.bytes(n + 1))) {
      slots[left++] = slots[i];
      continue;
    }
    taken[n++] = slots[i];
    if (n == kCopied) take_those();
  }
  take_those();
  std::sort(slots, slots + left);
  if (took) {
    follow_mean(take_ns_, (os::thread_cpu_ns() - begun) / took);
    taken_ += took;
    memory_.statistics.second_chance.waited += took;
    if (places_ != places) account();
  }
  return left;
}

/// The pages' contents are in copied_ then, and nobody stores to them. False: they cannot be had.
bool Shelf::copy(const uint32_t *slots, uint32_t count) {
  iovec to[kCopied], from[kCopied];
  for (uint32_t i = 0; i < count; ++i) {
    to[i] = {copied(i), memory_.page};
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
  const bool done = os::copy_parts(to, from, count);
  if (!done) protect(false);
  return done;
}

void Shelf::keep(uint32_t slot, uint32_t place, const char *page) {
  Page &p = memory_[slot];
  Entry &e = entry_[place];
  e.state = Entry::kWaits, e.slot = slot, e.dirty = p.state == PageState::kDirty, e.again = p.again, e.came = came_++;
  e.packed = packed_.pack(page);
  append(place);
  p.state = PageState::kShelved;
  p.flags = 0;
  p.wanted_by = low_bits(place, kWantedByBits);
  memory_.statistics.second_chance.waited_again += e.again;
  memory_.statistics.second_chance.kept_bytes += e.packed.bytes;
  discards_.add_shelved(slot, 1);
}

/// The page is back where the program sees it.
void Shelf::note_return(uint32_t slot, const Entry &e, bool waited_for) {
  const uint32_t age = came_ - e.came, most = came_ - entry_[first_].came;
  if (waited_for) memory_.chance.waited(e.again, true, most ? double(age) / most : 1);
  ++memory_.statistics.second_chance.came_back;
  memory_.statistics.second_chance.came_back_again += e.again;
  memory_[slot].again |= waited_for;
  memory_[slot].wanted_by = 0;
}

const char *Shelf::contents_of(uint32_t slot) const {
  packed_.unpack(entry_[memory_[slot].wanted_by].packed, copied(0));
  return copied(0);
}

void Shelf::show(uint32_t slot, bool write, bool waited_for) {
  Page &p = memory_[slot];
  const uint32_t place = p.wanted_by;
  Entry &e = entry_[place];
  const bool writing = e.state == Entry::kWriting, writable = write || (e.dirty && !writing);
  const bool timed = memory_.statistics.second_chance.came_back % kSampled == 0;
  const uint64_t begun = timed ? os::thread_cpu_ns() : 0;
  if (placement_.place(slot, contents_of(slot), 1, writable) == 0) return; // its mapping went away under us
  if (timed) follow_mean(show_ns_, os::thread_cpu_ns() - begun);
  note_return(slot, e, waited_for);
  p.state = writing ? PageState::kWriting : writable ? PageState::kDirty : PageState::kClean;
  p.flags = writing && writable ? kRedirtied : 0;
  if (writing) leave_copy(place);
  free(place);
  ++memory_.used;
  memory_.end.wanted(slot, core::WhichEnd::kStream); // it never went
  if (waited_for) memory_.keep(slot);
  else memory_.came(slot);
  memory_.residency.set(memory_.extent(slot, 1));
  placement_.end_wait(slot, 1);
}

void Shelf::put_back(uint32_t slot) {
  const uint32_t place = memory_[slot].wanted_by;
  note_return(slot, entry_[place], true);
  free(place);
}

// --- writing ---------------------------------------------------------------------------------------

/// So that the oldest pages can go when their places are needed.
void Shelf::write_ahead() {
  taken_ = 0;
  lacks_place_ = false;
  if (packed_.room() <= packed_.capacity() / kLookShare) write_next(waiting_ / kWrittenShare);
}

/// Writes those of the oldest `left` pages that are dirty, many at a time.
void Shelf::write_next(uint32_t left) {
  for (uint32_t place = first_; place != kNone && left;) {
    const Entry &e = entry_[place];
    const uint32_t n = e.state == Entry::kWaits && e.dirty ? write_run(place) : 1;
    if (n == 0) return;
    for (uint32_t i = 0; i < n; ++i) place = entry_[place].next;
    left -= std::min(left, n);
  }
}

/// Room for copies of up to `count` pages that are to be written. Returns how many; 0: none now.
uint32_t Shelf::take_copies(uint32_t count, uint32_t *first) {
  uint32_t most = 0;
  for (uint32_t i = 0, n; i < kWritten && most < count; i += n + 1) {
    for (n = 0; i + n < kWritten && n < count && !(being_written_ >> (i + n) & 1);) ++n;
    if (n > most) most = n, *first = i;
  }
  for (uint32_t i = *first; i < *first + most; ++i) being_written_ |= 1u << i;
  return most;
}

/// The page of the place has come back, and its copy is still being written.
void Shelf::leave_copy(uint32_t place) {
  for (uint32_t i = 0; i < kWritten; ++i)
    if (being_written_ >> i & 1 && place_written_[i] == place) place_written_[i] = kNone;
}

/// Starts to write a page with those that follow it in every way. Returns how many; 0: not now.
uint32_t Shelf::write_run(uint32_t place) {
  const uint32_t slot = entry_[place].slot;
  PagedRegion *r = memory_.region_of(slot);
  if (!r || r->draining || !store_.may_request(1) || store_.writes_are_refused()) return 0;
  const uint32_t most = std::min(store_.io_pages(), memory_.end_of(*r) - slot);
  uint32_t n = 1, first = 0;
  for (uint32_t p = entry_[place].next; n < most && p != kNone; p = entry_[p].next, ++n)
    if (entry_[p].slot != slot + n || !entry_[p].dirty || entry_[p].state != Entry::kWaits) break;
  n = take_copies(n, &first);
  if (n == 0) return 0;
  const int file = store_.file_for(slot, n, memory_.pages.high_water());
  if (file < 0) return give_copies(first, n), 0;
  store_.move_to(static_cast<unsigned>(file), slot, n);
  for (uint32_t i = 0; i < n; ++i, place = entry_[place].next) {
    packed_.unpack(entry_[place].packed, written_copy(first + i));
    entry_[place].state = Entry::kWriting;
    place_written_[first + i] = place;
  }
  store_.write_shelved(slot, n, reinterpret_cast<uint64_t>(written_copy(first)), first);
  ++r->in_flight;
  return n;
}

void Shelf::give_copies(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i) being_written_ &= ~(1u << i);
}

void Shelf::written(const Request &q, bool good) {
  for (uint32_t i = q.staging; i < q.staging + q.pages; ++i) {
    if (place_written_[i] == kNone) continue;
    Entry &e = entry_[place_written_[i]];
    e.state = Entry::kWaits;
    if (good) e.dirty = false, ++memory_.statistics.second_chance.written;
  }
  give_copies(q.staging, q.pages);
}

const char *Shelf::broken_invariant() const {
  uint32_t in_state[3] = {};
  uint64_t packed = 0;
  for (uint32_t i = 0; i < places_; ++i) {
    const Entry &e = entry_[i];
    ++in_state[e.state];
    packed += e.state == Entry::kFree ? 0 : PackedPages::taken_by(e.packed);
    if (e.state != Entry::kFree && (memory_[e.slot].state != PageState::kShelved || memory_[e.slot].wanted_by != i))
      return "a place on the shelf is of a page that is not there";
  }
  if (in_state[Entry::kWaits] + in_state[Entry::kWriting] != waiting_) return "the places on the shelf are miscounted";
  if (packed != packed_.capacity() - packed_.room()) return "the contents on the shelf are miscounted";
  uint32_t copies = 0;
  for (uint32_t i = 0; i < kWritten; ++i) copies += being_written_ >> i & 1 && place_written_[i] != kNone;
  if (copies != in_state[Entry::kWriting]) return "what is written from the shelf is miscounted";
  return nullptr;
}

} // namespace pagecast
