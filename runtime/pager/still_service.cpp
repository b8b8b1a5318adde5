// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/still_service.h"

#include "runtime/kernel/os.h"

namespace pagecast {

bool StillService::start() {
  notes_ = static_cast<Notes *>(os::reserve(sizeof(Notes))); // takes memory for those that there are
  zeros_ = static_cast<char *>(os::map_memory(memory_.page, false));
  return notes_ && zeros_;
}

bool StillService::serve() {
  constexpr int kAtOnce = 16;
  os::Fault faults[kAtOnce];
  const int n = os::fault_read(placement_.fd(), faults, kAtOnce);
  for (int i = 0; i < n; ++i) serve(faults[i]);
  return n > 0;
}

/// Of a page that is not there. NULL: it cannot be had now.
const char *StillService::contents(uint32_t slot, const PagedRegion &r) {
  switch (memory_[slot].state) {
  case PageState::kZero: return zeros_;
  case PageState::kAbsent: return store_.read_now(slot, r.origin);
  case PageState::kMark: return marks_.contents(slot);
  case PageState::kShelved: return shelf_.contents_of(slot);
  default: return nullptr;
  }
}

/// Whom nothing can be done for here faults again, until somebody can.
void StillService::serve(const os::Fault &fault) {
  const PagedRegion *r = memory_.regions.find(fault.address);
  const uint32_t count = notes_->count.load(std::memory_order_relaxed);
  if (!r || count == Notes::kMost) return placement_.wake(fault.address, memory_.page);
  const uint32_t slot = memory_.slot_of(*r, fault.address);
  const bool there = PagedMemory::resident(memory_[slot].state);
  const char *from = there ? nullptr : contents(slot, *r);
  if (!there && !from) return placement_.wake(fault.address, memory_.page);
  notes_->slot[count] = slot;
  notes_->count.store(count + 1, std::memory_order_release); // before there is anything to be seen of it
  if (there) placement_.unprotect(slot, 1);
  else if (os::fault_copy(placement_.fd(), fault.address, from, memory_.page, false) <= 0)
    placement_.wake(fault.address, memory_.page);
}

void StillService::settle() {
  if (!notes_) return;
  const uint32_t count = notes_->count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) settle(notes_->slot[i]);
  if (count) notes_->count.store(0, std::memory_order_relaxed);
}

/// A page that is there can have been stored to.
void StillService::settle(uint32_t slot) {
  Page &p = memory_[slot];
  const PageState before = p.state;
  uint8_t there = 0;
  if (before == PageState::kDirty || before == PageState::kWriting || os::populated(memory_.pages.address(slot), 1, &there) ||
      !there)
    return;
  if (PagedMemory::awaits_store(before)) return placement_.make_writable(slot, 1);
  limit_.use_tables(slot, 1);
  if (before == PageState::kMark) marks_.forget(slot);
  else ++memory_.used;
  if (before == PageState::kShelved) shelf_.put_back(slot);
  p.state = PageState::kDirty;
  p.flags = 0;
  memory_.order.touch(slot);
  memory_.residency.set(memory_.extent(slot, 1));
  placement_.end_wait(slot, 1);
}

} // namespace pagecast
