// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping to what the program may hold (allowance.h): looking when it is time, and giving back what is too much.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kBaseOwnBytes = 2u << 20; ///< code, stacks, rings, statistics
/// Given back in one turn of the loop: 1 ms of discarding, so that faults need not wait for long.
constexpr uint32_t kGivenBack = 4096;
} // namespace

void Pager::set_cap(uint64_t bytes) {
  allowance_.set_cap(bytes);
  poke();
}

void Pager::account() {
  const uint64_t tables = pages_.slots_used() * (PageTable::kBytesPerPage + 8); // 8: the kernel's page tables
  statistics.own_bytes = kBaseOwnBytes + staging_.bytes() + kZeroPages * page_ + Marks::bytes() + margins_.bytes() + tables;
  if (allowance_.divide(statistics.own_bytes, regions_.count() ? files_.bytes() : 0)) ++freed_;
}

/// Of the pages in use, those that are still being read: they are in staging.
uint32_t Pager::staged() const { return std::min(used_, staging_.pages() - staging_.free_pages()); }

/// Bytes of memory that the program has in regions, and the runtime.
uint64_t Pager::used_bytes() const {
  return (static_cast<uint64_t>(used_ - staged()) << shift_) + statistics.own_bytes + to_come_.load(std::memory_order_relaxed);
}

/// Bytes that it may hold and does not: what is being read, and the reserve.
uint64_t Pager::kept_free() const {
  return static_cast<uint64_t>(staged() + std::min(free_pages(), 2 * allowance_.least_free())) << shift_;
}

/// Looks at what memory there is, when it is time. Cost: 10 to 50 us.
void Pager::follow_limit(uint64_t now) {
  if (!allowance_.due(now)) return;
  allowance_.look(now, used_bytes(), kept_free(), in_motion());
  if (allowance_.beside_others()) files_.mind_reads(now);
  account();
}

/// Before memory is filled: a limit that was lowered since the last look may leave no room for that. Cost: a compare, at times
/// 1 us for each group.
void Pager::mind_limits(uint64_t now) {
  if (!allowance_.moved(now)) return;
  allowance_.look_at_once();
  follow_limit(now);
}

/// Pages come and go: the program itself passes the marks of its groups all the time, and looks at such moments show
/// less room than there is. Then the pager looks at fixed times instead.
bool Pager::in_motion() const { return reading_ || pages_coming_free() || open_nest_mask.load(std::memory_order_relaxed); }

/// More memory is needed than may be used until the next look: makes that look, if there is more to be had and if it
/// is not too soon; then it comes in a moment.
void Pager::raise_ceiling() {
  if (!allowance_.rising()) return;
  allowance_.look_soon();
  follow_limit(os::now_ns());
}

/// Gives up what the program holds beyond the budget, a part in each turn of the loop. True: there is more to do now.
bool Pager::give_back(uint64_t now) {
  if (!allowance_.exceeded(used_, now)) return false;
  const uint32_t before = used_, over = used_ - allowance_.pages(), coming = pages_coming_free();
  if (over > coming) evict(std::min(over - coming, kGivenBack));
  cleaning_.gave_back(now);
  return used_ < before && used_ > allowance_.pages();
}

/// How long the pager may sleep while nothing else happens, ns; 0: for ever, since there is nothing to give back.
uint64_t Pager::until_next_look() const {
  if (files_only_ || (used_bytes() <= kLeastMemory && !allowance_.rising())) return 0;
  const uint64_t now = os::now_ns(), cleaning = may_clean() ? cleaning_.next_ns() : core::Cleaning::kNever;
  const uint64_t next = std::min(allowance_.next_look_ns(), cleaning);
  return next > now ? next - now : 1;
}

} // namespace pagecast
