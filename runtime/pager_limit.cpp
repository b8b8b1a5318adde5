// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The budget as it moves: looking at what memory there is, and giving back what the program may hold no longer.
#include "runtime/nest_slots.h"
#include "runtime/pager.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kBaseOwnBytes = 2u << 20; ///< code, stacks, rings, statistics
constexpr uint32_t kLeastPages = 256;
/// Given back in one turn of the loop: 1 ms of discarding, so that faults need not wait for long.
constexpr uint32_t kGivenBack = 4096;
} // namespace

void Pager::set_cap(uint64_t bytes) {
  cap_.store(bytes, std::memory_order_relaxed);
  poke();
}

/// What is left for pages of a budget of so many bytes: the runtime itself lives on it too.
uint32_t Pager::pages_within(uint64_t bytes) const {
  const uint64_t least = kLeastPages * page_, own = statistics.own_bytes;
  return static_cast<uint32_t>(std::min<uint64_t>((bytes > own + least ? bytes - own : least) >> shift_, kNoSlot - 1));
}

void Pager::account() {
  const uint64_t tables = pages_.slots_used() * (PageTable::kBytesPerPage + 8); // 8: the kernel's page tables
  statistics.own_bytes = kBaseOwnBytes + staging_.bytes() + (kZeroPages + kHeld) * page_ + tables;
  statistics.budget_bytes = limit_.budget();
  budget_.store(limit_.budget(), std::memory_order_relaxed);
  // Beside paged memory, files get up to a quarter: the kernel would leave their pages what nobody else wants.
  const uint64_t share = regions_.count() ? std::min(files_.bytes(), limit_.budget() / 4) : 0, rest = limit_.budget() - share;
  files_share_.store(share, std::memory_order_relaxed);
  goal_pages_.store(pages_within(rest), std::memory_order_relaxed);
  const uint32_t pages = pages_within(std::min(limit_.ceiling(), rest));
  if (pages > budget_pages_) ++room_;
  budget_pages_ = pages;
}

/// Bytes of memory that the program has in regions, and the runtime. What is still being read is in staging.
uint64_t Pager::held() const {
  const uint32_t staged = std::min(used_, staging_.pages() - staging_.free_pages());
  return (static_cast<uint64_t>(used_ - staged) << shift_) + statistics.own_bytes;
}

/// Looks at what memory there is, when it is time. Cost: 10 to 50 us.
void Pager::follow_limit(uint64_t now) {
  const uint64_t cap = cap_.load(std::memory_order_relaxed);
  if (now < next_look_ns_ && cap == seen_cap_) return;
  seen_cap_ = cap;
  core::Pool pools[core::kMostPools];
  const unsigned n = memory_.look(pools);
  const bool tells = !in_motion();
  for (unsigned i = 0; i < n; ++i) pools[i].tells &= tells;
  const uint64_t before = limit_.budget();
  limit_.cap(cap);
  limit_.update(now, held(), pools, n);
  looked_ns_ = now;
  next_look_ns_ = now + limit_.interval_ns();
  ++statistics.looks;
  const uint64_t budget = limit_.budget();
  statistics.least_budget_bytes = std::min(statistics.least_budget_bytes, budget);
  statistics.most_budget_bytes = std::max(statistics.most_budget_bytes, budget);
  if (budget != before && before) {
    const int direction = budget < before ? -1 : 1;
    if (direction != direction_) ++(direction < 0 ? statistics.lowered : statistics.raised);
    direction_ = direction;
  }
  account();
}

/// Another look may allow more pages: the ceiling rises, and has not come to what is left beside the files.
bool Pager::rising() const {
  return limit_.rising() && limit_.ceiling() < limit_.budget() - files_share_.load(std::memory_order_relaxed);
}

/// Pages come and go: the program itself passes the marks of its groups all the time, and looks at such moments show
/// less room than there is. Then the pager looks at fixed times instead.
bool Pager::in_motion() const { return reading_ || pages_writing_ || open_nests.load(std::memory_order_relaxed); }

/// A group of the process tells that its use has passed a mark.
void Pager::look_soon() {
  os::event_clear(memory_event_);
  if (!in_motion()) next_look_ns_ = std::min(next_look_ns_, looked_ns_ + core::Limit::kDemandNs);
}

/// More memory is needed than may be used until the next look: makes that look, if there is more to be had and if it
/// is not too soon; then it comes in a moment.
void Pager::raise_ceiling() {
  if (!rising()) return;
  next_look_ns_ = std::min(next_look_ns_, looked_ns_ + core::Limit::kDemandNs);
  follow_limit(os::now_ns());
}

/// Gives up what the program holds beyond the budget, a part in each turn of the loop. True: there is more to do now.
bool Pager::give_back(uint64_t now) {
  if (used_ <= budget_pages_) {
    if (over_since_ns_) {
      statistics.slowest_give_back_ns = std::max(statistics.slowest_give_back_ns, now - over_since_ns_);
      if (over_most_ > used_) statistics.given_back_bytes += static_cast<uint64_t>(over_most_ - used_) << shift_;
    }
    over_since_ns_ = 0;
    over_most_ = 0;
    return false;
  }
  if (over_since_ns_ == 0) over_since_ns_ = now;
  // What faults did not take of their half goes to who needs the memory.
  over_from_ = used_ > over_most_ ? used_ : over_from_ - (over_from_ > used_ ? (over_from_ - used_) / 2 : 0);
  over_most_ = std::max(over_most_, used_);
  const uint32_t before = used_, over = used_ - budget_pages_;
  if (over > pages_writing_) evict(std::min(over - pages_writing_, kGivenBack));
  return used_ < before && used_ > budget_pages_;
}

/// How long the pager may sleep while nothing else happens, ns; 0: for ever, since there is nothing to give back.
uint64_t Pager::until_next_look() const {
  if (files_only_ || (held() <= kLeastMemory && !rising())) return 0;
  const uint64_t now = os::now_ns();
  return next_look_ns_ > now ? next_look_ns_ - now : 1;
}

} // namespace pagecast
