// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each fork leaves a file that parent and child share (fork_files.h). There is room for a few: before the next fork, what the older
// ones hold of this process is put together.
#include "runtime/store/backing_store.h"

#include <algorithm>
#include <cstdint>

namespace pagecast {

/// What files that are no longer shared hold moves to the oldest of them; where all are shared, everything moves to a new one.
void BackingStore::merge_files(const PageTable &pages, PagedRegions &regions) {
  fork_files_.look_for_ends();
  for (unsigned i = 0; i < stores_; ++i)
    if (fork_files_.crowded(i) && !merge_files(pages, regions, i)) return;
}

bool BackingStore::merge_files(const PageTable &pages, PagedRegions &regions, unsigned store) {
  const int target = fork_files_.home(store);
  if (target < 0) return false;
  auto other = [&](unsigned i) {
    return fork_files_.is_open(i) && fork_files_.store_of(i) == store && static_cast<int>(i) != target;
  };
  bool all_but_target_shared = true;
  for (unsigned i = 0; i < ForkFiles::kFiles; ++i)
    if (other(i)) all_but_target_shared &= fork_files_.shared(i);
  uint32_t moved = 0;
  for (unsigned i = 0; i < ForkFiles::kFiles; ++i)
    moved |= other(i) && (all_but_target_shared || !fork_files_.shared(i)) ? 1u << i : 0;
  for (unsigned i = 0; i < regions.count(); ++i)
    if (!regions[i].origin.is_map() && !move_contents(pages, regions[i], moved, static_cast<unsigned>(target))) return false;
  for (unsigned i = 0; i < ForkFiles::kFiles; ++i) {
    if (moved >> i & 1) fork_files_.close_file(i);
  }
  return true;
}

/// Moves what the region has in the files `from` (a bit each) to the file `to`. False: it cannot be; nothing is lost.
bool BackingStore::move_contents(const PageTable &pages, const PagedRegion &r, uint32_t from, unsigned to) {
  auto to_move = [&](uint32_t s) {
    const PageState state = pages[s].state;
    const bool stored = state == PageState::kAbsent || state == PageState::kMark || state == PageState::kShelved ||
                        (state == PageState::kClean && !(pages[s].flags & kNoBacking));
    return stored && (from >> fork_files_.file_of(s) & 1);
  };
  const auto end = static_cast<uint32_t>(r.first_slot + (r.bytes >> shift_));
  for (uint32_t s = r.first_slot; s < end;) {
    if (!to_move(s)) {
      s = pages.next_used(s + 1, end);
      continue;
    }
    const uint32_t most = fork_files_.run(s, std::min({end - s, read_pages_, staging_.pages()}));
    uint32_t n = 1;
    while (n < most && to_move(s + n)) ++n;
    const uint64_t bytes = uint64_t{n} << shift_, offset = uint64_t{s} << shift_;
    Store &store = fork_files_.store(to); // of all that is moved
    int error = store.read_now(fork_files_.file_of(s), staging_.base(), bytes, offset);
    if (!error) error = store.reserve_room_now(to, offset, bytes);
    if (!error) error = store.write_now(to, staging_.base(), bytes, offset);
    if (error) return false;
    fork_files_.put(s, n, to);
    s += n;
  }
  return true;
}

} // namespace pagecast
