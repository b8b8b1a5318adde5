// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that lives in a file of ours, as regions of the advise back end.
#include "runtime/files/advise.h"

#include "runtime/kernel/os.h"

#include <algorithm>

namespace pagecast {

int Advise::start_memory(uint64_t need, char *why, unsigned capacity) {
  return memory_.start(table_.options->backing, need, why, capacity);
}

bool Advise::add_memory(uint64_t address, uint64_t bytes, bool fresh) {
  const uint64_t pages = bytes >> table_.shift;
  const uint32_t slot = table_.regions.full() ? kNoSlot : pages_->allocate(address, pages);
  const uint64_t taken = slot == kNoSlot ? 0 : memory_.take(address, bytes, slot, fresh);
  if (taken < bytes) ++table_.statistics->files.memory_left;
  if (slot != kNoSlot && taken == 0) pages_->free(slot, pages, true);
  if (taken == 0) return false;
  FileRegion region;
  region.base = address;
  region.bytes = taken;
  region.first_slot = slot;
  region.request_bytes = memory_.request_bytes();
  region.kind = Region::kOwnFile;
  region.may_give_up = true;
  insert(region);
  ++table_.statistics->files.regions;
  table_.statistics->files.memory_bytes += taken;
  table_.bytes += taken;
  return true;
}

void Advise::remove_memory(uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end;) {
    FileRegion r;
    {
      Guard guard(table_.lock);
      const FileRegion *found = table_.regions.at_or_after(at);
      if (!found || found->base >= end) return;
      r = *found;
    }
    const uint64_t from = std::max(at, r.base), to = std::min(end, r.end());
    remove(from, to); // no advice from here on
    if (memory_.give_back(r, from, to))
      pages_->free(r.first_slot + static_cast<uint32_t>((from - r.base) >> table_.shift), (to - from) >> table_.shift,
                   to == r.end());
    table_.statistics->files.memory_bytes -= to - from;
    at = to;
  }
}

void Advise::clear_memory(uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end;) {
    FileRegion r;
    {
      Guard guard(table_.lock);
      if (const FileRegion *found = table_.regions.at_or_after(at)) r = *found;
    }
    if (r.bytes && r.base <= at) {
      const uint64_t to = std::min(end, r.end());
      memory_.clear(r, at, to);
      at = to;
      continue;
    }
    // Private memory: it could not move, or it had the stack of who forked.
    const uint64_t to = r.bytes ? std::min(end, r.base) : end;
    memory_.clear_private(at, to);
    at = to;
  }
}

/// The pages around `stack` in which frames change until the child has its copy.
void Advise::keep_stack(uint64_t stack) {
  constexpr uint64_t kBelow = 128u << 10, kAbove = 16u << 10;
  const uint64_t page = stack >> table_.shift << table_.shift;
  for (uint64_t at = page - kBelow; at < page + kAbove;) {
    const FileRegion r = table_.look_up(at);
    const uint64_t to = r.bytes ? std::min(page + kAbove, r.end()) : at + os::page_size();
    if (r.kind == Region::kOwnFile) {
      memory_.make_private(r, at, to);
      remove(at, to);
      table_.statistics->files.memory_bytes -= to - at;
    }
    at = to;
  }
}

int Advise::copy_memory(uint64_t stack) {
  if (!memory_.active()) return 0;
  keep_stack(stack);
  return memory_.copy(table_.regions);
}

} // namespace pagecast
