// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/ledger.h"
#include <algorithm>

namespace pagecast::speculate {
namespace {

constexpr uint8_t kHinted = 1, kFetching = 2, kFetched = 4, kRead = 8;
constexpr uint8_t kUsed = 16; ///< read after it was prefetched
constexpr uint8_t kOwn = 32;  ///< written by the program

} // namespace

void Ledger::hinted(uint64_t inode, uint64_t offset, uint64_t length) {
  if (length == 0) return;
  const std::lock_guard lock(mutex_);
  const Range range = range_of(inode, offset, length);
  for (uint64_t block = range.first; block < range.end; block++) states_[{inode, block}] |= kHinted;
  hints_.push_back(range);
}

void Ledger::fetching(uint64_t inode, uint64_t offset, uint64_t length, bool done) {
  const std::lock_guard lock(mutex_);
  const Range range = range_of(inode, offset, length);
  for (uint64_t block = range.first; block < range.end; block++) {
    uint8_t &state = states_[{inode, block}];
    if (!done || state & kFetching) state |= done ? kFetched : kFetching;
  }
}

void Ledger::begin(Reading *reading, uint64_t file_size) {
  const std::lock_guard lock(mutex_);
  sizes_[reading->inode] = file_size;
  const Range range = range_of(reading->inode, reading->offset, reading->length);
  reading->before.clear();
  for (uint64_t block = range.first; block < range.end; block++) reading->before.push_back(states_[{reading->inode, block}]);
}

void Ledger::end(const Reading &reading, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) {
    counts_.reads_at_end++;
    return;
  }
  const Range range = range_of(reading.inode, reading.offset, std::min(bytes, reading.length));
  const uint64_t end = reading.offset + std::min(bytes, reading.length);
  bool all = true, own = true;
  for (uint64_t block = range.first; block < range.end; block++) {
    const uint8_t before = reading.before[block - range.first];
    const uint64_t part = std::min(end, (block + 1) * kBlock) - std::max(reading.offset, block * kBlock);
    uint8_t &state = states_[{reading.inode, block}];
    const bool hinted = before & kHinted, written = before & kOwn;
    all &= hinted;
    own &= written;
    counts_.blocks_own += written && !hinted;
    counts_.blocks++;
    counts_.bytes += part;
    counts_.blocks_hinted += hinted;
    counts_.bytes_hinted += hinted ? part : 0;
    counts_.reused += (before & kRead) != 0;
    if (!(before & kUsed) && before & (kFetched | kFetching)) (before & kFetched ? counts_.fully : counts_.partly)++;
    state |= kRead | (before & (kFetched | kFetching) ? kUsed : 0);
  }
  counts_.reads++;
  counts_.reads_hinted += all;
  counts_.reads_own += own && !all;
}

void Ledger::wrote(uint64_t inode, uint64_t offset, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Range range = range_of(inode, offset, bytes);
  for (uint64_t block = range.first; block < range.end; block++) states_[{inode, block}] |= kOwn;
}

void Ledger::mapped(uint64_t inode, uint64_t offset, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  mapped_[inode].push_back(range_of(inode, offset, bytes));
}

/// With the lock.
bool Ledger::is_mapped(const FileBlock &block) const {
  const auto found = mapped_.find(block.inode);
  return found != mapped_.end() && std::any_of(found->second.begin(), found->second.end(), [&](const Range &range) {
           return block.block >= range.first && block.block < range.end;
         });
}

AccountCounts Ledger::counts() {
  const std::lock_guard lock(mutex_);
  AccountCounts counts = counts_;
  for (const auto &[at, state] : states_) {
    const auto size = sizes_.find(at.inode);
    const bool beyond = size != sizes_.end() && at.block * kBlock >= size->second; // nothing is there to be read
    if (state & kRead || beyond || is_mapped(at)) continue;
    counts.blocks_in_error += (state & kHinted) != 0;
    counts.unused += (state & (kFetched | kFetching)) != 0;
  }
  counts.hints = hints_.size();
  for (const Range &hint : hints_) {
    bool right = false;
    for (uint64_t block = hint.first; block < hint.end && !right; block++) {
      const FileBlock at = {hint.inode, block};
      right = (states_[at] & kRead) != 0 || is_mapped(at);
    }
    counts.hints_in_error += !right;
  }
  return counts;
}

} // namespace pagecast::speculate
