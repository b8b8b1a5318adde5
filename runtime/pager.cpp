// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager.h"

#include "runtime/message.h"
#include "runtime/nest_slots.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace pagecast {
namespace {

constexpr uint64_t kUserPages = 1ull << 35; ///< of a 47-bit address space with 4 KiB pages
constexpr uint64_t kBaseOwnBytes = 2u << 20; ///< code, stacks, rings, statistics
enum CommandKind { kAdd, kRemove, kClear };
enum WatchTag : uint64_t { kFaultsReadable, kEventReadable };

} // namespace

struct Pager::Command {
  int kind;
  uint64_t address, bytes;
  int result;
  uint32_t done;
  Command *next;
};

// --- start -----------------------------------------------------------------------------------------

int Pager::prepare(const Options &options, uint64_t budget, uint64_t data_bytes, char *why, unsigned room) {
  options_ = &options;
  shift_ = os::page_shift();
  page_ = os::page_size();
  budget_ = budget;
  const uint64_t map_pages = kUserPages << 12 >> shift_;
  auto *bits = static_cast<uint8_t *>(os::reserve(core::ResidencyMap::bytes(map_pages)));
  if (!bits || !pages_.start() || !regions_.start()) {
    snprintf(why, room, "not enough address space for the pager's tables (ulimit -v?)");
    return -ENOMEM;
  }
  map_.attach(bits, shift_, 0, map_pages);
  order_.attach(pages_.links(), pages_.capacity());
  const uint64_t staging = std::clamp<uint64_t>(budget / 64, 1u << 20, 16u << 20);
  zeros_ = static_cast<char *>(os::map_memory(kZeroPages * page_, true));
  if (!staging_.start(staging) || !zeros_) {
    snprintf(why, room, "not enough memory for the pager");
    return -ENOMEM;
  }
  io_pages_ = static_cast<uint32_t>(std::clamp<uint64_t>(options.io >> shift_, 1, staging_.pages() / 4));
  for (unsigned i = 0; i < kRequests; ++i) free_request_[free_requests_++] = static_cast<uint16_t>(kRequests - 1 - i);
  hand_ring_.start();
  slice_ring_.start();
  const uint64_t overflow = data_bytes > budget ? data_bytes - budget : 0;
  if (const int error = backing_.start(options.backing, overflow, why, room)) return error;
  faults_ = os::fault_open();
  event_ = os::event_open();
  if (faults_ < 0 || event_ < 0) {
    snprintf(why, room, "userfaultfd cannot be opened");
    return faults_ < 0 ? faults_ : event_;
  }
  statistics.budget_bytes = budget;
  account();
  return 0;
}

/// What the runtime itself needs comes out of the budget.
void Pager::account() {
  const uint64_t tables = uint64_t{pages_.high_water()} * (PageTable::kBytesPerPage + 8); // 8: the kernel's page tables
  const uint64_t own = kBaseOwnBytes + staging_.bytes() + kZeroPages * page_ + tables;
  const uint64_t least = 256 * page_;
  statistics.own_bytes = own;
  budget_pages_ = static_cast<uint32_t>((budget_ > own + least ? budget_ - own : least) >> shift_);
}

int Pager::open_on_thread() {
  if (const int error = disk_.start(kRequests, backing_.fd())) return error;
  disk_.watch(faults_, kFaultsReadable);
  disk_.watch(event_, kEventReadable);
  disk_.submit();
  return 0;
}

int Pager::wait_started() {
  while (started_.load(std::memory_order_acquire) == 0) os::futex_wait(reinterpret_cast<uint32_t *>(&started_), 0);
  return start_error_;
}

core::Conditions Pager::conditions() const {
  core::Conditions c;
  c.page = page_;
  c.budget = static_cast<uint64_t>(budget_pages_) << shift_;
  c.latency_ns = latency_ns_;
  c.queue_bytes = std::min<uint64_t>(staging_.bytes(), 4u << 20);
  c.max_io = static_cast<uint64_t>(io_pages_) << shift_;
  c.fixed_distance = options_->distance;
  c.schedule = options_->schedule;
  c.release = options_->release != ReleasePolicy::kNone;
  return c;
}

// --- the loop --------------------------------------------------------------------------------------

void Pager::run() {
  start_error_ = open_on_thread();
  started_.store(1, std::memory_order_release);
  os::futex_wake(reinterpret_cast<uint32_t *>(&started_));
  if (start_error_) return;
  const uint64_t begun = os::now_ns();
  for (;;) {
    bool busy = take_faults();
    Disk::Completion done[64];
    const unsigned n = disk_.completions(done, 64);
    for (unsigned i = 0; i < n; ++i) {
      if (done[i].tag & Disk::kWatch) {
        if (done[i].tag == (Disk::kWatch | kEventReadable)) os::event_clear(event_);
        continue;
      }
      Request &q = request_[done[i].tag];
      if (q.write) written(q, done[i].result);
      else if (done[i].result == static_cast<int>(q.pages << shift_)) install(q);
      else read_failed(q, done[i].result);
      free_request(q);
      busy = true;
    }
    flush_discards(); // before anything can be fetched again
    busy |= take_commands();
    if (waiting_count_) busy |= retry_waiting();
    busy |= run_nests();
    busy |= take_hints();
    keep_reserve();
    clean_ahead();
    disk_.submit();
    const uint64_t used = static_cast<uint64_t>(used_) << shift_;
    if (used + statistics.own_bytes > statistics.peak_bytes) statistics.peak_bytes = used + statistics.own_bytes;
    statistics.note((os::now_ns() - begun) / 1000000, used + statistics.own_bytes);
    if (!busy) sleep();
  }
}

void Pager::sleep() {
  statistics.pager_cpu_ns = os::thread_cpu_ns();
  sleeping_.store(1, std::memory_order_seq_cst);
  if (!anything_posted()) {
    // A disk that refused is asked again; faults that found no room wait for a completion, or for that.
    const bool retry = waiting_count_ || pending_ || write_trouble_;
    disk_.wait(retry ? 2000000 : 0);
  }
  sleeping_.store(0, std::memory_order_seq_cst);
}

bool Pager::anything_posted() {
  if (commands_.load(std::memory_order_seq_cst) || hand_ring_.front()) return true;
  if (slice_ring_.front() && free_pages() > 64) return true;
  for (uint32_t open = open_nests.load(std::memory_order_seq_cst); open; open &= open - 1) {
    NestSlot &slot = nest_slots[__builtin_ctz(open)];
    const uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state == NestSlot::kClosing) return true;
    if (state == NestSlot::kOpen && (!slot.started || __atomic_load_n(&slot.ticket.step, __ATOMIC_RELAXED) >= slot.wake_at)) return true;
  }
  return false;
}

void Pager::poke() {
  if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(0, std::memory_order_seq_cst)) os::event_post(event_);
}

// --- nests and hints -------------------------------------------------------------------------------

/// One advance of one nest: translates the core's decisions.
class Pager::NestSink final : public core::Sink {
public:
  NestSink(Pager &pager, NestSlot &slot) : pager_(pager), slot_(slot) {}
  bool fetch(core::Extent e, unsigned group, bool write) override {
    const auto step = static_cast<uint32_t>(slot_.ticket.step + slot_.nest.distance());
    return pager_.fetch(e.begin, e.end,
                        {static_cast<uint16_t>(slot_.sites + group), static_cast<uint8_t>(&slot_ - nest_slots), step, write, false});
  }
  void release(core::Extent e, unsigned group, unsigned priority) override {
    pager_.release(e.begin, e.end, priority, static_cast<uint16_t>(slot_.sites + group));
  }

private:
  Pager &pager_;
  NestSlot &slot_;
};

/// Resident pages of the range stay, as if asked for now, the last one first.
void Pager::keep_range(uint64_t begin, uint64_t end) {
  while (begin < end) {
    Region *r = regions_.find(end - 1);
    if (!r) return; // a nest's extents seldom span regions; what lies before a gap goes without
    const uint64_t from = std::max(begin, r->base);
    for (uint32_t s = slot_of(*r, end), first = slot_of(*r, from); s-- > first;) {
      if (!resident(pages_[s].state)) continue;
      pages_[s].flags &= static_cast<uint8_t>(~kEvict);
      order_.touch(s);
    }
    end = from;
  }
}

/// A nest begins: what is resident is kept where this one will use it, so that what it releases itself and what
/// it does not use go first. The groups are walked backwards, side by side: if memory must be found among these pages
/// all the same, the ones that the nest comes to last go first. Cost: 2-5 ns a page of the footprint.
void Pager::keep_for(NestSlot &slot) {
  const core::Shape &shape = slot.nest.shape();
  if (free_pages() > budget_pages_ / 4 || slot.nest.plan().total_bytes >> shift_ > 16ull * budget_pages_) return;
  read_only_count_ = 0;
  read_only_left_ = budget_pages_;
  constexpr uint64_t kParts = 64;
  for (uint64_t part = kParts; part-- > 0;) {
    for (unsigned g = 0; g < shape.groups; ++g) {
      if (shape.group[g].indirect) continue;
      core::Pieces pieces;
      slot.nest.footprint(g, &pieces);
      const uint64_t n = pieces.size();
      if (n >= kParts) {
        for (uint64_t i = n * (part + 1) / kParts; i-- > n * part / kParts;) keep_range(pieces.at(i).begin, pieces.at(i).end);
        continue;
      }
      if (part == 0 && !shape.group[g].writes)
        for (uint64_t i = 0; i < n; ++i) note_read_only(pieces.at(i));
      for (uint64_t i = n; i-- > 0;) { // few pieces: each in parts
        const core::Extent e = pieces.at(i);
        const uint64_t pages = e.size() >> shift_;
        const bool down = n == 1 && shape.group[g].stride[shape.ticked] < 0;
        const uint64_t at = down ? kParts - 1 - part : part;
        keep_range(e.begin + (pages * at / kParts << shift_), e.begin + (pages * (at + 1) / kParts << shift_));
      }
    }
  }
}

/// Indirect targets that are fetched whole get no hints while their nest runs: they do not age then.
void Pager::pin_targets(const NestSlot &slot, int change) {
  for (unsigned i = 0; i < slot.pinned_count; ++i)
    if (Region *r = regions_.find(slot.pinned[i])) {
      r->pinned = static_cast<uint32_t>(static_cast<int>(r->pinned) + change);
      if (change > 0) keep_range(r->base, r->end());
    }
}

bool Pager::run_nests() {
  bool busy = false;
  for (uint32_t open = open_nests.load(std::memory_order_seq_cst); open; open &= open - 1) {
    const unsigned i = static_cast<unsigned>(__builtin_ctz(open));
    NestSlot &slot = nest_slots[i];
    const uint32_t state = slot.state.load(std::memory_order_acquire);
    NestSink sink(*this, slot);
    const uint64_t step = __atomic_load_n(&slot.ticket.step, __ATOMIC_RELAXED);
    if (state == NestSlot::kClosing) {
      slot.nest.finish(step, sink);
      if (slot.started) pin_targets(slot, -1);
      open_nests.fetch_and(~(1u << i), std::memory_order_seq_cst);
      slot.state.store(NestSlot::kFree, std::memory_order_release);
      busy = true;
      continue;
    }
    if (state != NestSlot::kOpen) continue;
    if (!slot.started) {
      slot.started = true;
      ++slot.turn;
      slot.crowded_seen = crowded_;
      order_.new_epoch();
      keep_for(slot);
      pin_targets(slot, 1);
      for (unsigned g = 0; g < slot.description->groups && slot.sites; ++g) ++statistics.site[slot.sites + g].entries;
    } else if (step < slot.wake_at && !(slot.nest.blocked() && slot.room_seen != room_)) {
      continue;
    }
    const uint64_t room = room_;
    slot.nest.crowded(crowded_ - slot.crowded_seen);
    slot.crowded_seen = crowded_;
    const uint64_t wake = slot.nest.advance(step, os::now_ns(), map_, sink);
    slot.room_seen = room;
    // Blocked: only room can help, not the program's progress.
    slot.wake_at = slot.nest.blocked() && wake <= step ? step + 1 : wake;
    slot.slice_ahead.store(slot.nest.slice_distance(), std::memory_order_relaxed);
    __atomic_store_n(&slot.ticket.wake, slot.wake_at, __ATOMIC_RELAXED);
    busy = true;
  }
  return busy;
}

bool Pager::hint(const Hint &hint) {
  const bool taken = hand_ring_.push(hint);
  if (!taken) statistics.hints_dropped.fetch_add(1, std::memory_order_relaxed);
  poke();
  return taken;
}

bool Pager::slice_hint(const Hint &hint) { return slice_ring_.push(hint); }

/// The run of untouched pages around `slot` within its block of eight, where the block is in use already: it
/// fills up sooner or later, and one call for several pages costs little more than for one. Else the page.
Pager::Run Pager::zero_run(const Region &r, uint32_t slot) {
  if (pages_[slot].state != PageState::kZero) return {slot, 1};
  const uint32_t start = std::max(slot & ~7u, r.first_slot);
  const uint32_t stop = std::min((slot | 7u) + 1, r.first_slot + static_cast<uint32_t>(r.bytes >> shift_));
  uint32_t begin = slot, end = slot + 1;
  while (begin > start && pages_[begin - 1].state == PageState::kZero) --begin;
  while (end < stop && pages_[end].state == PageState::kZero) ++end;
  if (begin == start && end == stop) return {slot, 1};
  return {begin, end - begin};
}

bool Pager::take_hints() {
  bool busy = false;
  for (unsigned n = 0; n < 64; ++n) {
    const Hint *h = hand_ring_.front();
    if (!h) break;
    const uint64_t end = h->address + (static_cast<uint64_t>(h->pages) << shift_);
    if (h->kind == Hint::kRelease) release(h->address, end, h->priority, h->site);
    else if (!fetch(h->address, end, {h->site, h->nest, 0, h->kind == Hint::kFetchWrite, false})) {
      // By hand: non-binding. It is asked again while memory is only being freed; else dropped.
      if (pages_writing_ || free_requests_ < kRequests) break;
      ++statistics.refused_fetches;
    }
    hand_ring_.pop();
    busy = true;
  }
  for (unsigned n = 0; n < 512; ++n) {
    const Hint *h = slice_ring_.front();
    if (!h) break;
    ++statistics.slice_hints;
    if (Region *r = regions_.find(h->address)) {
      const uint32_t slot = slot_of(*r, h->address);
      const Asked asked{h->site, h->nest, h->due, h->kind == Hint::kFetchWrite, false};
      if (pages_[slot].state == PageState::kReading) {
        ++statistics.useless_hints;
      } else if (!r->draining) {
        const Run run = zero_run(*r, slot);
        uint32_t done = fetch_run(*r, run.slot, run.pages, asked);
        if (run.slot + done <= slot) done = fetch_run(*r, slot, 1, asked); // little room: the page itself
        if (done == 0) {
          --statistics.slice_hints;
          break;
        }
      }
    }
    slice_ring_.pop();
    busy = true;
  }
  return busy;
}

// --- commands --------------------------------------------------------------------------------------

int Pager::command(int kind, uint64_t address, uint64_t bytes) {
  Command c{kind, address, bytes, 0, 0, nullptr};
  Command *head = commands_.load(std::memory_order_relaxed);
  do c.next = head;
  while (!commands_.compare_exchange_weak(head, &c, std::memory_order_seq_cst));
  poke();
  while (__atomic_load_n(&c.done, __ATOMIC_ACQUIRE) == 0) os::futex_wait(&c.done, 0);
  return c.result;
}

int Pager::add(uint64_t address, uint64_t bytes) { return command(kAdd, address, bytes); }
int Pager::remove(uint64_t address, uint64_t bytes) { return command(kRemove, address, bytes); }
int Pager::clear(uint64_t address, uint64_t bytes) { return command(kClear, address, bytes); }

bool Pager::take_commands() {
  for (Command *c = commands_.exchange(nullptr, std::memory_order_acquire); c;) {
    Command *next = c->next;
    c->next = pending_;
    pending_ = c;
    c = next;
  }
  bool busy = false;
  for (Command **link = &pending_; *link;) {
    Command *c = *link;
    if (!try_command(*c)) {
      link = &c->next;
      continue;
    }
    *link = c->next;
    uint32_t *done = &c->done; // the command lives on its thread's stack, which goes on once it is done
    __atomic_store_n(done, 1, __ATOMIC_RELEASE);
    os::futex_wake(done);
    busy = true;
  }
  return busy;
}

/// False: I/O on the range is under way, ask again.
bool Pager::try_command(Command &c) {
  if (c.kind == kAdd) {
    c.result = do_add(c.address, c.bytes);
    return true;
  }
  if (!quiet(c.address, c.address + c.bytes)) return false;
  forget(c.address, c.address + c.bytes, c.kind == kClear);
  c.result = 0;
  return true;
}

int Pager::do_add(uint64_t address, uint64_t bytes) {
  Region region;
  region.base = address;
  region.bytes = bytes;
  region.first_slot = pages_.allocate(address, bytes >> shift_);
  if (region.first_slot == kNoSlot) return -ENOSPC;
  int error = os::fault_watch(faults_, address, bytes);
  if (!error && !regions_.insert(region)) {
    os::fault_unwatch(faults_, address, bytes);
    error = -ENOSPC;
  }
  if (error) {
    pages_.free(region.first_slot, bytes >> shift_);
    return error;
  }
  os::keep_out_of_children(address, bytes);
  account();
  ++statistics.regions;
  statistics.region_bytes += bytes;
  Region *r = regions_.find(address);
  return adopt_populated(*r);
}

/// Pages that the program has touched before the range became a region: dirty, and resident.
int Pager::adopt_populated(Region &r) {
  uint8_t there[2048];
  const uint64_t pages = r.bytes >> shift_;
  for (uint64_t i = 0; i < pages; i += sizeof there) {
    const uint64_t n = std::min<uint64_t>(pages - i, sizeof there);
    if (os::populated(r.base + (i << shift_), n, there)) std::fill_n(there, n, uint8_t{1}); // cannot tell: assume contents
    for (uint64_t j = 0; j < n; ++j) {
      if (!there[j]) continue;
      const auto slot = static_cast<uint32_t>(r.first_slot + i + j);
      pages_[slot].state = PageState::kDirty;
      order_.insert_active(slot);
      map_.set(extent(slot, 1));
      ++used_;
    }
  }
  if (used_ > budget_pages_) evict(used_ - budget_pages_);
  return 0;
}

/// Stops new I/O on the regions that overlap the range; true when none is under way.
bool Pager::quiet(uint64_t begin, uint64_t end) {
  bool still = true;
  for (unsigned i = 0; i < regions_.count(); ++i) {
    Region &r = regions_[i];
    if (r.base >= end || r.end() <= begin) continue;
    r.draining = true;
    still &= r.in_flight == 0;
  }
  return still;
}

/// Drops the contents of the range. `keep_region`: it stays a region, of zero pages.
void Pager::forget(uint64_t begin, uint64_t end, bool keep_region) {
  for (unsigned i = 0; i < regions_.count(); ++i) {
    Region &r = regions_[i];
    if (r.base >= end || r.end() <= begin) continue;
    r.draining = false;
    const uint64_t from = std::max(begin, r.base), to = std::min(end, r.end());
    const uint32_t first = slot_of(r, from);
    const auto pages = static_cast<uint32_t>((to - from) >> shift_);
    for (uint32_t s = first; s < first + pages; ++s) {
      if (resident(pages_[s].state)) {
        order_.remove(s);
        --used_;
      }
      pages_[s] = {};
    }
    map_.clear({from, to});
    const iovec range{reinterpret_cast<void *>(from), to - from};
    os::discard(&range, 1);
    if (!keep_region) {
      os::fault_unwatch(faults_, from, to - from);
      pages_.free(first, pages);
      statistics.region_bytes -= to - from;
      statistics.regions -= to - from == r.bytes;
    }
    os::fault_wake(faults_, from, to - from);
  }
  if (!keep_region) regions_.cut(begin, end, shift_);
  ++room_;
}

} // namespace pagecast
