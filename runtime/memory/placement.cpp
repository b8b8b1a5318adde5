// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/placement.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/os.h"

#include <cerrno>

namespace pagecast {

int Placement::open() {
  fd_ = os::fault_open();
  return fd_ < 0 ? fd_ : 0;
}

int Placement::recover() {
  stalls_.clear();
  close_own(fd_);
  return open();
}

void Placement::count_waits(uint64_t now) {
  constexpr uint64_t kEvery = 100'000'000; // often within the second after which statistics are written anew
  if (!stalls_.any() || now - waits_counted_ns_ < kEvery) return;
  waits_counted_ns_ = now;
  stalls_.count(now, memory_.statistics.stall_ns);
}

uint32_t Placement::place(uint32_t slot, const char *from, uint32_t pages, bool writable) {
  let_go_ns_ = os::now_ns();
  const int64_t done = os::fault_copy(fd_, address(slot), from, memory_.bytes(pages), !writable);
  if (done > 0) {
    const auto placed = static_cast<uint32_t>(done >> memory_.shift);
    limit_.placed(placed);
    return placed;
  }
  if (done == -EEXIST)
    os::fault_protect(fd_, address(slot), memory_.page, !writable); // the kernel was asked past us: make it ours
  wake(address(slot), memory_.page);
  if (done == -EEXIST) return 1;
  memory_.residency.clear(memory_.extent(slot, 1));
  end_wait(slot, 1);
  return 0;
}

void Placement::make_writable(uint32_t slot, uint32_t pages) {
  for (uint32_t s = slot; s < slot + pages; ++s) {
    Page &p = memory_[s];
    p.state = PageState::kDirty;
    p.flags &= static_cast<uint8_t>(~kNoBacking);
    if (memory_.cleaning.is_cleaned(s)) memory_.cleaning.stored(s, os::now_ns());
  }
  limit_.stored(pages);
  unprotect(slot, pages);
}

int Placement::watch_inherited(const PagedRegion &r) {
  if (const int error = watch(r.base, r.bytes)) return error;
  os::give_to_children(r.base, r.bytes, false);
  return 0;
}

void Placement::protect_inherited(const PagedRegion &r) {
  const uint32_t end = memory_.end_of(r);
  for (uint32_t s = memory_.pages.next_used(r.first_slot, end); s < end;) {
    uint32_t n = 1;
    if (PagedMemory::awaits_store(memory_[s].state)) {
      while (s + n < end && PagedMemory::awaits_store(memory_[s + n].state)) ++n;
      protect(s, n);
    }
    s = memory_.pages.next_used(s + n, end);
  }
}

} // namespace pagecast
