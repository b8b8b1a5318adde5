// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads that are done. Their pages go to where the program sees them at once, but where the limit has fallen below what
// is in use: reads that were under way then wait in the staging memory until others' pages have gone.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <cerrno>

namespace pagecast {

/// A read is done.
void Pager::arrive(Request &q) {
  const uint64_t now = os::now_ns();
  latency_ns_ = latency_ns_ ? (latency_ns_ * 7 + (now - q.started_ns)) / 8 : now - q.started_ns;
  if (q.site != Statistics::kHistory) nest_measured(q.nest, now - q.started_ns);
  mind_limits(now);
  if (used_ > allowance_.pages() || requests_.postponed()) {
    ++statistics.reads_postponed;
    return requests_.postpone(q);
  }
  install(q);
  free_request(q);
}

/// Those that could not be installed are, while there is room; and all, if none is going to be made. Once in each turn of the
/// loop, when give_back() has begun to make some. True: some were.
bool Pager::arrive_late() {
  bool any = false;
  if (requests_.postponed()) flush_discards();
  while (Request *q = requests_.postponed()) {
    if (used_ > allowance_.pages() && pages_coming_free() && !allowance_.fits(used_bytes(), q->pages)) {
      allowance_.look_soon();
      break;
    }
    requests_.drop_postponed();
    install(*q);
    free_request(*q);
    any = true;
  }
  return any;
}

/// Its pages go where the program sees them, which also wakes who waits.
void Pager::install(Request &q) {
  if (Region *r = region_of(q.slot)) --r->in_flight;
  --reading_;
  for (uint32_t i = 0; i < q.pages;) {
    if ((pages_[q.slot + i].flags & kToMark) && keep_mark(q.slot + i, staging_.address(q.staging + i))) {
      ++i;
      continue;
    }
    const bool writable = pages_[q.slot + i].flags & kWriteIntent;
    uint32_t n = 1;
    while (i + n < q.pages && ((pages_[q.slot + i + n].flags & kWriteIntent) != 0) == writable &&
           !(pages_[q.slot + i + n].flags & kToMark))
      ++n;
    const uint32_t slot = q.slot + i;
    n = place(slot, staging_.address(q.staging + i), n, writable);
    if (n == 0) { // it stays in the backing store
      pages_[slot].state = PageState::kAbsent;
      pages_[slot].flags = 0;
      --used_;
      ++i;
      continue;
    }
    for (uint32_t s = slot; s < slot + n; ++s) {
      Page &p = pages_[s];
      p.state = writable ? PageState::kDirty : PageState::kClean;
      p.flags &= kPrefetched;
      order_.insert_active(s);
    }
    i += n;
  }
  end_wait(q.slot, q.pages);
  staging_.give(q.staging, q.pages);
  ++freed_;
}

/// The backing store cannot give the pages back. Those that only a hint wanted are absent as before. A thread that
/// waits for one of several is woken and asks again, for that page alone: its neighbours may be the unreadable ones.
/// A page that was asked for alone is lost: who touches it gets what a mapped file would give.
void Pager::read_failed(Request &q, int result) {
  const bool passing = result == -EAGAIN || result == -EINTR || result == -ENOMEM;
  const bool lost = !passing && q.pages == 1 && (pages_[q.slot].flags & kDemand);
  disk_errors_.read_failed(result, lost, os::now_ns());
  if (Region *r = region_of(q.slot)) --r->in_flight;
  --reading_;
  for (uint32_t s = q.slot; s < q.slot + q.pages; ++s) {
    pages_[s].state = lost ? PageState::kLost : PageState::kAbsent;
    pages_[s].flags = 0;
  }
  const core::Extent e = extent(q.slot, q.pages);
  map_.clear(e);
  used_ -= q.pages;
  if (lost) os::fault_poison(faults_, e.begin, page_);
  os::fault_wake(faults_, e.begin, e.end - e.begin);
  end_wait(q.slot, q.pages);
  staging_.give(q.staging, q.pages);
}

void Pager::free_request(Request &q) {
  requests_.give(q);
  ++freed_;
}

} // namespace pagecast
