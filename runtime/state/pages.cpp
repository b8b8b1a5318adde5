// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/pages.h"

#include "runtime/kernel/os.h"

#include <cstring>

namespace pagecast {

bool PageTable::start() {
  shift_ = os::page_shift();
  pages_ = static_cast<Page *>(os::reserve(uint64_t{kSlots} * sizeof(Page)));
  links_ = static_cast<core::Replacement::Link *>(os::reserve(uint64_t{kSlots} * sizeof(core::Replacement::Link)));
  groups_ = static_cast<uint16_t *>(os::reserve(kSlots / core::Replacement::kGroup * sizeof(uint16_t)));
  grain_address_ = static_cast<uint64_t *>(os::reserve(uint64_t{kSlots / kGrainPages} * sizeof(uint64_t)));
  used_ = static_cast<uint64_t *>(os::reserve(kSlots / kChunkPages / 8));
  return pages_ && links_ && groups_ && grain_address_ && used_;
}

void PageTable::use(uint32_t slot, uint32_t pages) {
  for (uint32_t c = slot / kChunkPages; c <= (slot + pages - 1) / kChunkPages; ++c) {
    if (used_[c / 64] >> (c % 64) & 1) continue;
    used_[c / 64] |= 1ull << (c % 64);
    ++chunks_used_;
  }
}

uint32_t PageTable::next_used(uint32_t slot, uint32_t end) const {
  while (slot < end && !used(slot)) {
    const uint32_t chunk = slot / kChunkPages;
    slot = used_[chunk / 64] >> (chunk % 64) ? (chunk + 1) * kChunkPages : (chunk / 64 + 1) * 64 * kChunkPages;
  }
  return slot < end ? slot : end;
}

uint32_t PageTable::allocate(uint64_t address, uint64_t pages) {
  const uint64_t grains = (pages + kGrainPages - 1) / kGrainPages;
  uint32_t first = kNoSlot;
  for (unsigned i = 0; i < free_count_ && first == kNoSlot; ++i) {
    Free &f = free_[i];
    if (f.grains < grains) continue;
    first = f.first;
    f.first += static_cast<uint32_t>(grains * kGrainPages);
    f.grains -= static_cast<uint32_t>(grains);
    if (f.grains == 0) f = free_[--free_count_];
    for (uint32_t slot = first, end = first + static_cast<uint32_t>(grains * kGrainPages); slot < end; slot += kGrainPages)
      if (used(slot)) memset(pages_ + slot, 0, kGrainPages * sizeof(Page));
  }
  if (first == kNoSlot) {
    if (grains * kGrainPages > kSlots - next_) return kNoSlot;
    first = next_;
    next_ += static_cast<uint32_t>(grains * kGrainPages);
  }
  for (uint64_t g = 0; g < grains; ++g) grain_address_[first / kGrainPages + g] = address + ((g * kGrainPages) << shift_);
  return first;
}

void PageTable::free(uint32_t first, uint64_t pages, bool last) {
  // A range that was split keeps its border grain until the address space ends: 256 KiB of numbers, no memory.
  const uint32_t begin = (first + kGrainPages - 1) / kGrainPages;
  const uint32_t end = static_cast<uint32_t>((first + pages + (last ? kGrainPages - 1 : 0)) / kGrainPages);
  if (begin >= end) return;
  for (unsigned i = 0; i < free_count_; ++i) {
    Free &f = free_[i];
    if (f.first + f.grains * kGrainPages == begin * kGrainPages) {
      f.grains += end - begin;
      return;
    }
    if (end * kGrainPages == f.first) {
      f.first = begin * kGrainPages;
      f.grains += end - begin;
      return;
    }
  }
  if (free_count_ < kFree) free_[free_count_++] = {begin * kGrainPages, end - begin};
}

} // namespace pagecast
