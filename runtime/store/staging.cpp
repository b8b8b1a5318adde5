// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/staging.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/os.h"
#include "runtime/nbd/helper_start.h"

#include <algorithm>

namespace pagecast {

void Staging::start_at(char *base, uint64_t bytes) {
  shift_ = os::page_shift();
  whole_pages_ = pages_ = free_ = std::min(static_cast<uint32_t>(bytes >> shift_) & ~63u, kWords * 64);
  hand_ = 0;
  base_ = base;
  std::fill(used_, used_ + kWords, 0);
}

bool Staging::start(uint64_t bytes) {
  start_at(nullptr, bytes);
  base_ = static_cast<char *>(os::map_buffer(this->bytes()));
  return owned_ = base_ != nullptr && pages_ != 0;
}

bool Staging::start_shared(uint64_t bytes) {
  start_at(nullptr, bytes);
  fd_ = os::make_shared_memory("pagecast-staging", this->bytes());
  base_ = fd_ < 0 ? nullptr : os::map_shared_memory(fd_, this->bytes());
  return base_ != nullptr && pages_ != 0;
}

bool Staging::renew() {
  close_own(fd_);
  fd_ = os::make_shared_memory("pagecast-staging", bytes());
  return fd_ >= 0 && os::map_shared_memory(fd_, bytes(), base_) == base_;
}

void Staging::resize(uint32_t pages) {
  if (pages > pages_)
    os::fill_buffer(base_, in_use() ? bytes() : 0, static_cast<uint64_t>(pages) << shift_, pages == whole_pages_);
  else os::empty_buffer(base_, whole_bytes());
  free_ += pages - pages_;
  pages_ = pages;
  hand_ = 0;
}

uint32_t Staging::take(uint32_t want, uint32_t *first) {
  lacked_ |= free_ < want;
  if (free_ == 0 || want == 0) return 0;
  auto used = [&](uint32_t p) { return used_[p / 64] >> (p % 64) & 1; };
  // Next fit: requests come and go in about the same order, so the space behind the hand is free again.
  uint32_t best = 0, best_at = 0, run = 0;
  const uint32_t start = hand_;
  for (uint32_t seen = 0, p = start; seen < pages_ && best < want;) {
    if (p == pages_) p = 0, run = 0;
    if (p % 64 == 0 && used_[p / 64] == ~0ull && seen + 64 <= pages_) {
      p += 64, seen += 64, run = 0;
      continue;
    }
    run = used(p) ? 0 : run + 1;
    if (run > best) best = run, best_at = p + 1 - run;
    ++p, ++seen;
  }
  if (best > want) best = want;
  for (uint32_t p = best_at; p < best_at + best; ++p) used_[p / 64] |= 1ull << (p % 64);
  free_ -= best;
  most_taken_ = std::max(most_taken_, in_use());
  hand_ = best_at + best < pages_ ? best_at + best : 0;
  *first = best_at;
  return best;
}

void Staging::give(uint32_t first, uint32_t pages) {
  for (uint32_t p = first; p < first + pages; ++p) used_[p / 64] &= ~(1ull << (p % 64));
  free_ += pages;
}

} // namespace pagecast
