// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/pager.h"

#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {
namespace {

constexpr unsigned kMostCompletions = 64; ///< in one turn of the loop
/// Pages, at least, whose reads are done, in one turn: a share of staging, so that others are under way meanwhile.
constexpr uint32_t kArrivalShare = 4, kLeastArrivals = 16, kMostArrivals = 128;
enum WatchTag : uint64_t { kFaultsReadable, kEventReadable, kMemoryTells };

} // namespace

// --- start -----------------------------------------------------------------------------------------

static uint64_t fixed_bytes(const char *backing, uint64_t budget) {
  return Marks::bytes() + NbdStore::bytes_to_start(backing, budget);
}

uint64_t Pager::bytes_to_start(const char *backing, uint64_t budget, uint64_t data_bytes) {
  return MemoryLimit::table_bytes(data_bytes) + BackingStore::staging_bytes_for(budget) + fixed_bytes(backing, budget);
}

bool Pager::start_tables(const Options &options, uint64_t budget) {
  if (!memory.start(options)) return false;
  limit.start(budget, fixed_bytes(options.backing, budget));
  return true;
}

int Pager::start(uint64_t budget, uint64_t data_bytes, char *why, unsigned capacity) {
  memory.order.attach(memory.pages.links(), memory.pages.capacity(), memory.pages.groups());
  shelf.start(budget);
  if (!fetcher.start() || !marks.start() || !still.start() || !successions.start()) {
    write_text(why, capacity, "not enough memory for the pager");
    return -ENOMEM;
  }
  const uint64_t overflow = data_bytes > budget ? data_bytes - budget : 0;
  store.set_patience(memory.options->patience);
  if (const int error = store.start(memory.options->backing, budget, overflow, memory.options->io, why, capacity)) return error;
  regions.set_most(store.most_bytes());
  if (store.has_helpers()) limit.expect_helpers();
  if (const int error = placement.open()) {
    write_text(why, capacity, "userfaultfd cannot be opened");
    return error;
  }
  started_ = true;
  return 0;
}

int Pager::open(int event) {
  event_ = event;
  if (!started_) return 0;
  if (const int error = store.open()) return error;
  store.watch(placement.fd(), kFaultsReadable);
  store.watch(event, kEventReadable);
  if (limit.event() >= 0) store.watch(limit.event(), kMemoryTells);
  store.submit();
  return 0;
}

int Pager::attach(NbdStore &map) {
  const uint8_t number = store.attach(map);
  if (!number) return -ENOSPC;
  limit.expect_helpers();
  return number;
}

// --- the loop --------------------------------------------------------------------------------------

bool Pager::take_completions() {
  bool busy = false;
  uint32_t arrived = 0;
  const uint32_t most_arrivals = std::clamp(store.staging().whole_pages() / kArrivalShare, kLeastArrivals, kMostArrivals);
  BackingStore::Done done;
  for (unsigned n = 0; n < kMostCompletions && arrived < most_arrivals && store.next(&done); ++n) {
    if (done.kind == BackingStore::Done::kWatched) {
      busy |= done.tag == kFaultsReadable; // since they were last read, perhaps
      if (done.tag == kEventReadable) os::event_clear(event_);
      if (done.tag == kMemoryTells) limit.pressed();
      continue;
    }
    if (done.kind == BackingStore::Done::kRoom) {
      busy = true;
      memory.note_freed();
      continue;
    }
    Request &q = *done.request;
    busy |= !q.idle;
    if (!q.write && done.result == static_cast<int>(memory.bytes(q.pages))) {
      arrived += q.pages;
      arrivals.arrive(q);
      continue;
    }
    if (q.write) write_back.written(q, done.result);
    else arrivals.fail(q, done.result);
    store.free_request(q);
    memory.note_freed();
  }
  return busy;
}

bool Pager::keep_up(uint64_t now, bool busy, uint64_t soon) {
  cleaner.clean(now, busy);
  limit.follow(now);
  if (started_) shelf.keep_up();
  busy |= eviction.give_back(now);
  busy |= arrivals.arrive_late();
  if (started_) fit_staging(now);
  eviction.keep_reserve(busy, faults.waiting());
  eviction.write_ahead(soon);
  if (store.is_open()) store.submit();
  store.watch_for_stalls(now);
  placement.count_waits(now);
  return busy;
}

/// Staging takes what is wanted of it. What comes to it is free before that.
void Pager::fit_staging(uint64_t now) {
  const uint32_t wanted = store.staging_wanted(now), pages = store.staging().pages();
  if (wanted == 0 || wanted == pages) return;
  if (wanted > pages && limit.free_pages() < wanted - pages) {
    eviction.evict(wanted - pages - limit.free_pages());
    if (limit.free_pages() < wanted - pages) return;
  }
  store.resize_staging(wanted);
  limit.account();
}

uint64_t Pager::next_look_in_ns() const {
  if (!started_ || !limit.needs_looks()) return 0;
  const uint64_t now = os::now_ns(), next = std::min(limit.next_look_ns(), cleaner.next_ns());
  return next > now ? next - now : 1;
}

// --- fork ------------------------------------------------------------------------------------------

void Pager::prepare_fork(uint64_t stack, const uint64_t *needed, unsigned count) {
  if (!started_) return;
  discards.flush();
  maps.flush_now();
  store.merge_files(memory.pages, memory.regions);
  await_stores();
  keep_stack(stack);
  for (unsigned i = 0; i < count; ++i)
    if (const PagedRegion *r = memory.regions.find(needed[i])) fetcher.bring_now(memory.slot_of(*r, needed[i]));
}

/// Both processes come to have what is in memory, and whoever stores to it first gets a copy: those stores are to be seen. What the
/// forking thread needs is made writable after this.
void Pager::await_stores() {
  for (unsigned i = 0; i < memory.regions.count(); ++i) {
    const PagedRegion &r = memory.regions[i];
    const uint32_t end = memory.end_of(r);
    for (uint32_t s = memory.pages.next_used(r.first_slot, end), n; s < end; s = memory.pages.next_used(s + n, end)) {
      for (n = 0; s + n < end && memory[s + n].state == PageState::kDirty; ++n) memory[s + n].state = PageState::kForked;
      if (n) placement.protect(s, n);
      else n = 1;
    }
  }
}

/// The thread that forks cannot wait for pages of its stack, should that be in a region, while we hold still.
void Pager::keep_stack(uint64_t stack) {
  constexpr uint64_t kBelow = 128u << 10, kAbove = 32u << 10;
  const PagedRegion *r = memory.regions.find(stack);
  if (!r) return;
  const uint64_t page = stack & ~(memory.page - 1);
  const uint32_t end = memory.slot_of(*r, std::min(r->end(), page + kAbove));
  for (uint32_t s = memory.slot_of(*r, std::max(r->base, page - kBelow)); s < end; ++s) fetcher.bring_now(s);
}

int Pager::before_fork() {
  if (const int error = store.before_fork()) return error;
  for (unsigned i = 0; i < memory.regions.count(); ++i)
    os::give_to_children(memory.regions[i].base, memory.regions[i].bytes, true);
  return 0;
}

void Pager::after_fork() {
  store.after_fork();
  for (unsigned i = 0; i < memory.regions.count(); ++i)
    os::give_to_children(memory.regions[i].base, memory.regions[i].bytes, false);
}

int Pager::recover() {
  faults.forked();
  memory.favour.forked();
  margins.forget_all(); // saved at some moment around the fork
  regions.end_quiet();
  maps.forked();
  int error = 0;
  if (started_) {
    store.recover();
    error = placement.recover();
    still.settle();
  }
  for (unsigned i = 0; i < memory.regions.count() && !error; ++i) error = placement.watch_inherited(memory.regions[i]);
  if (!error) limit.forked();
  return error;
}

void Pager::abandon() {
  for (unsigned i = 0; i < memory.regions.count(); ++i)
    os::unmap(reinterpret_cast<void *>(memory.regions[i].base), memory.regions[i].bytes);
}

} // namespace pagecast
