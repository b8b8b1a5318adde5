// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/memory_limit.h"

#include "runtime/state/open_nests.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kBaseOwnBytes = 2u << 20; ///< code, stacks, rings, statistics
constexpr uint64_t kKernelTables = 8;        ///< bytes of the kernel's page tables for each page
/// For so long a fork waits for memory for its child, and a store for that of a copy. Then they get what is left: others may hold
/// all of it, and give nothing back.
constexpr uint64_t kMostForkNs = 2'000'000'000, kMostStoreNs = 1'000'000'000;
/// A child stores to most of what it ever will of its parent's unpaged memory within that time.
constexpr uint64_t kCopiedNs = 2'000'000'000;
} // namespace

uint64_t MemoryLimit::table_bytes(uint64_t data_bytes) {
  return kBaseOwnBytes + (data_bytes >> os::page_shift()) * (PageTable::kBytesPerPage + kKernelTables);
}

void MemoryLimit::start(uint64_t cap, uint64_t fixed_bytes) {
  fixed_bytes_ = fixed_bytes;
  allowance_.start(cap, memory_.statistics);
}

void MemoryLimit::forked() {
  allowance_.forked();
  for_child_ = unpaged_; // each page is copied once, but either process may be the one that takes the memory
  child_until_ns_ = os::now_ns() + kCopiedNs;
  forking_ = false;
  small_blocks.forked();
  memory_.cleaning.stop(); // what it does not use costs nothing
  account();
}

/// Bytes of the tables; where no page of a stretch is in memory, all but its pages' states have been given back.
uint64_t MemoryLimit::tables() const {
  const uint64_t known = memory_.pages.slots_used(), listed = uint64_t{memory_.order.groups_used()} * core::Replacement::kGroup;
  return known * sizeof(Page) + std::min(known, listed) * (sizeof(core::Replacement::Link) + kKernelTables) +
         memory_.successions.bytes();
}

void MemoryLimit::account() {
  uint64_t &own = memory_.statistics.own_bytes;
  groups_seen_ = memory_.order.groups_used();
  MemoryMakeUp &now = memory_.statistics.now;
  now.tables = tables(), now.staging = store_.staging_bytes(), now.margins = margins_.bytes();
  now.shelf = memory_.shelf_bytes;
  now.fixed = kBaseOwnBytes + fixed_bytes_;
  own = now.tables + now.staging + now.margins + now.shelf + now.fixed;
  now.limit = allowance_.size() == kAuto ? 0 : allowance_.size();
  now.free = std::min(allowance_.left(), now.limit - std::min(now.limit, used_bytes()));
  if (allowance_.divide(own + for_child_, memory_.regions.count() ? files_.bytes() : 0)) memory_.note_freed();
}

void MemoryLimit::account_for_files() {
  if (files_.bytes() == files_seen_) return;
  files_seen_ = files_.bytes();
  account();
}

void MemoryLimit::use_tables(uint32_t slot, uint32_t pages) {
  const uint64_t before = memory_.pages.slots_used();
  memory_.pages.use(slot, pages);
  if (memory_.pages.slots_used() != before) account();
}

void MemoryLimit::came(uint32_t pages) {
  const uint64_t expected = to_come_.load(std::memory_order_relaxed);
  to_come_.store(expected - std::min(expected, memory_.bytes(pages)), std::memory_order_relaxed);
}

uint64_t MemoryLimit::used_bytes() const {
  return program_bytes() + memory_.statistics.own_bytes + to_come_.load(std::memory_order_relaxed);
}

uint64_t MemoryLimit::program_bytes() const { return memory_.bytes(placed_pages()); }

/// Bytes that it may hold and does not: what is kept ahead of need.
uint64_t MemoryLimit::kept_free() const { return memory_.bytes(std::min(free_pages(), 2 * allowance_.least_free())); }

void MemoryLimit::follow(uint64_t now) {
  if (memory_.order.groups_used() != groups_seen_) account();
  follow_child(now);
  if (!is_time_to_look(now)) return;
  const uint64_t grown = small_blocks.begin_look();
  allowance_.have_others(has_others());
  allowance_.have_files(files_.bytes() != 0);
  allowance_.look(now, used_bytes(), kept_free(), in_motion());
  if (allowance_.beside_others()) files_.mind_reads(now);
  if (allowance_.code_comes_back()) os::read_code_in_pieces();
  account();
  small_blocks.looked(grown, allowance_.room_beside(memory_.bytes(free_pages())), over());
}

bool MemoryLimit::is_time_to_look(uint64_t now) const {
  if (allowance_.is_time_to_look(now) || small_blocks.posted()) return true;
  return small_blocks.waited_for() && now >= allowance_.next_look_ns(SmallBlocks::kRetryNs);
}

void MemoryLimit::mind(uint64_t now) {
  if (!allowance_.moved(now)) return;
  allowance_.look_at_once();
  follow(now);
}

/// Pages come and go: the program itself passes the alarms of its groups all the time, and looks at such moments show
/// less room than there is. Then the pager looks at fixed times instead.
bool MemoryLimit::in_motion() const {
  return store_.reading() || store_.pages_coming_free() || open_nest_mask.load(std::memory_order_relaxed);
}

/// Bytes that the process has in memory beside pages and what the runtime takes, which nobody sees being copied.
uint64_t MemoryLimit::unpaged() {
  const uint64_t all = os::own_anonymous_bytes(), known = program_bytes() + memory_.statistics.own_bytes;
  return unpaged_ = all - std::min(all, known);
}

bool MemoryLimit::has_room_for_child(uint64_t now) {
  if (child_until_ns_ == 0) child_until_ns_ = now + kMostForkNs;
  if (now >= child_until_ns_) return true;
  if (!forking_) forking_ = true, allowance_.look_at_once();
  else allowance_.look_soon();
  follow(now);
  constexpr uint64_t kPlenty = 4;
  const uint64_t bytes = memory_.statistics.own_bytes + unpaged(), plenty = kPlenty * (bytes + Allowance::kLeastOfMany);
  if (for_child_ == 0 && allowance_.has_beside_kept(plenty)) return true;
  if (store_.child_starts()) return false; // the one before takes its part first
  if (for_child_ == 0) {
    // What a process shares with one that is there already takes memory until both have given it up. So room for more children is
    // made before the first of them.
    for_child_ = has_others() ? bytes : plenty;
    account();
  }
  return !over();
}

void MemoryLimit::end_fork() {
  forking_ = false;
  child_until_ns_ = 0;
}

/// What was kept for a child is its own now.
void MemoryLimit::follow_child(uint64_t now) {
  if (for_child_ == 0 || forking_ || store_.child_starts() || now < child_until_ns_) return;
  for_child_ = child_until_ns_ = 0;
  account();
}

uint32_t MemoryLimit::may_store(uint32_t pages, uint64_t now) {
  if (!has_others()) return pages;
  mind(now);
  if (allowance_.copies(used_bytes()) == 0) {
    allowance_.look_soon();
    follow(now);
  }
  uint32_t n = std::min(pages, allowance_.copies(used_bytes()));
  if (n == 0 && refused_since_ns_ == 0) refused_since_ns_ = now;
  if (n == 0 && now - refused_since_ns_ >= kMostStoreNs) n = 1;
  if (n) refused_since_ns_ = 0;
  return n;
}

void MemoryLimit::raise_ceiling() {
  if (!allowance_.rising()) return;
  allowance_.look_soon();
  follow(os::now_ns());
}

} // namespace pagecast
