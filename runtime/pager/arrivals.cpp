// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/arrivals.h"

#include "runtime/kernel/os.h"
#include "runtime/state/open_nests.h"

#include <cerrno>

namespace pagecast {

void Arrivals::arrive(Request &q) {
  const uint64_t now = os::now_ns();
  store_.measured(now - q.started_ns);
  if (q.site != Statistics::kHistory) nest_measured(q.nest, now - q.started_ns);
  limit_.mind(now);
  if (store_.postponed() || !has_room(q)) {
    ++memory_.statistics.reads_postponed;
    return store_.postpone(q);
  }
  install(q);
  free_request(q);
}

/// Whether there is memory for its pages, or others could go for them.
bool Arrivals::has_room(const Request &q) {
  const uint32_t free = limit_.free_pages();
  if (free < q.pages && !limit_.over()) eviction_.evict(q.pages - free);
  return limit_.free_pages() >= q.pages;
}

bool Arrivals::arrive_late() {
  bool any = false;
  while (Request *q = store_.postponed()) {
    const bool may_come = has_room(*q) || (limit_.over() && limit_.fits(q->pages));
    if (!may_come && (store_.pages_coming_free() || store_.making_room())) {
      limit_.look_soon();
      break;
    }
    store_.drop_postponed();
    if (may_come || is_waited_for(*q)) install(*q);
    else forget(*q);
    free_request(*q);
    any = true;
  }
  return any;
}

/// A thread waits for one of its pages, and must go on even where nothing else can go.
bool Arrivals::is_waited_for(const Request &q) const {
  for (uint32_t s = q.slot; s < q.slot + q.pages; ++s)
    if (memory_[s].flags & kDemand) return true;
  return false;
}

/// Its pages are as they were before it, in the backing store.
void Arrivals::forget(Request &q, PageState state) {
  if (PagedRegion *r = memory_.region_of(q.slot)) --r->in_flight;
  for (uint32_t s = q.slot; s < q.slot + q.pages; ++s) {
    memory_[s].state = state;
    memory_[s].flags = 0;
  }
  memory_.residency.clear(memory_.extent(q.slot, q.pages));
  memory_.used -= q.pages;
  store_.read_done(q);
}

/// Its pages go where the program sees them, which also wakes who waits.
void Arrivals::install(Request &q) {
  if (PagedRegion *r = memory_.region_of(q.slot)) --r->in_flight;
  for (uint32_t i = 0; i < q.pages;) {
    const uint32_t slot = q.slot + i;
    const char *from = store_.contents(q, i);
    const bool marked = (memory_[slot].flags & kToMark) && marks_.keep(slot, from);
    i += marked ? 1 : install_run(slot, from, q.pages - i);
  }
  placement_.end_wait(q.slot, q.pages);
  store_.read_done(q);
  memory_.note_freed();
}

/// The first ones of the pages that are to be alike. Returns how many.
uint32_t Arrivals::install_run(uint32_t slot, const char *from, uint32_t pages) {
  const bool writable = memory_[slot].flags & kWriteIntent;
  uint32_t n = 1;
  while (n < pages && ((memory_[slot + n].flags & kWriteIntent) != 0) == writable && !(memory_[slot + n].flags & kToMark)) ++n;
  n = placement_.place(slot, from, n, writable);
  if (n == 0) { // it stays in the backing store
    memory_[slot].state = PageState::kAbsent;
    memory_[slot].flags = 0;
    --memory_.used;
    return 1;
  }
  for (uint32_t s = slot; s < slot + n; ++s) {
    Page &p = memory_[s];
    p.state = writable ? PageState::kDirty : PageState::kClean;
    p.flags &= kPrefetched;
    memory_.came(s);
  }
  return n;
}

void Arrivals::fail(Request &q, int result) {
  const bool passing = result == -EAGAIN || result == -EINTR || result == -ENOMEM;
  const bool lost = !passing && q.pages == 1 && (memory_[q.slot].flags & kDemand);
  store_.read_failed(q, result, lost, os::now_ns());
  forget(q, lost ? PageState::kLost : PageState::kAbsent);
  if (lost) placement_.poison(q.slot);
  const core::Extent e = memory_.extent(q.slot, q.pages);
  placement_.wake(e.begin, e.end - e.begin);
  placement_.end_wait(q.slot, q.pages);
}

void Arrivals::free_request(Request &q) {
  store_.free_request(q);
  memory_.note_freed();
}

} // namespace pagecast
