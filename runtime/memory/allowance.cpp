// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/allowance.h"

#include "core/arithmetic.h"
#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/os_files.h"
#include "runtime/state/options.h"
#include "runtime/state/pages.h"

namespace pagecast {
namespace {
constexpr uint32_t kLeastPages = 256;
/// What is left of the free memory, until the next look, to others and to the kernel: so much, and this part of what is kept
/// free. In 1 GiB the kernel was seen to take more than 1 MiB meanwhile.
constexpr uint64_t kNotOurs = 1u << 20, kNotOursPart = 2;
} // namespace

void Allowance::start(uint64_t cap, Statistics &statistics) {
  statistics_ = &statistics;
  cap_ = cap;
  limit_.start(cap, std::min(cap, kLeastMemory));
  event_ = os::event_open();
  refused_ = os::event_open();
  memory_.open(event_, refused_);
  memory_.mind_files();
}

void Allowance::forked() {
  memory_.forked();
  close_own(event_);
  close_own(refused_);
  event_ = refused_ = -1;
  limit_.start(cap_, std::min<uint64_t>(cap_, kLeastMemory));
  file_reads_ = core::FileReads(statistics_->read_bytes);
  next_look_ns_ = over_since_ns_ = free_then_ = 0;
  over_most_ = over_from_ = 0;
}

/// Bytes of files that the program had read from disks. What helpers of the runtime read is not in the kernel's count of this
/// process. The first look is made by the program's thread, whose reads are its own.
uint64_t Allowance::files_read() {
  const uint64_t all = memory_.has_helpers() ? 0 : os::read_from_disks();
  return file_reads_.update(all, statistics_->read_bytes, os::is_ours() ? os::read_from_disks_here() : 0);
}

void Allowance::look(uint64_t now, uint64_t used_bytes, uint64_t spare, bool in_motion) {
  seen_cap_ = cap_.load(std::memory_order_relaxed);
  core::Pool pools[core::kMostPools];
  const unsigned n = memory_.look(pools, seen_read_ = files_read(), maps_files_);
  const uint64_t stalled_ns = statistics_->stall_ns.sum();
  for (unsigned i = 0; i < n; ++i) pools[i].tells &= !in_motion, pools[i].code.stalled_ns = stalled_ns;
  const uint64_t before = limit_.budget(), had = std::min(before, used_bytes + spare);
  limit_.cap(seen_cap_);
  limit_.lowest(std::min(seen_cap_, least()));
  limit_.update(now, used_bytes, pools, n, spare);
  if (limit_.budget() < had) statistics_->given_back_bytes += had - limit_.budget();
  // Who lowers a limit step by step, to the use each time, takes what is free now with the next step.
  const uint64_t not_ours = limit_.budget() < before ? limit_.free() : std::max(kNotOurs, limit_.kept() / kNotOursPart);
  fits_ = std::min(seen_cap_, core::saturating_add(used_bytes, limit_.free() - std::min(limit_.free(), not_ours)));
  used_then_ = used_bytes;
  free_then_ = limit_.free() - std::min(limit_.free(), std::max(kNotOurs, limit_.kept() / kNotOursPart));
  looked_ns_ = read_ns_ = now;
  placed_ = copied_ = 0;
  next_look_ns_ = now + limit_.interval_ns();
  ++statistics_->looks;
  note_change(before);
}

uint32_t Allowance::copies(uint64_t used_bytes) const {
  const uint64_t taken = used_bytes - std::min(used_bytes, used_then_) + copied_ * os::page_size();
  const uint64_t pages = (free_then_ - std::min(free_then_, taken)) >> os::page_shift();
  return static_cast<uint32_t>(std::min<uint64_t>(pages, kNoSlot));
}

bool Allowance::moved(uint64_t now) {
  if (!core::Limit::may_be_filled(placed_ * os::page_size(), now - read_ns_)) return false;
  read_ns_ = now;
  placed_ = 0;
  // A program that begins to read a file can fill what is kept free before the next look.
  return memory_.moved() || (!limit_.keeps_all_for_reads() && files_read() >= seen_read_ + core::Limit::kSomeRead);
}

void Allowance::note_change(uint64_t before) {
  const uint64_t budget = limit_.budget();
  statistics_->least_budget_bytes = std::min(statistics_->least_budget_bytes, budget);
  statistics_->most_budget_bytes = std::max(statistics_->most_budget_bytes, budget);
  if (budget == before || !before) return;
  const int direction = budget < before ? -1 : 1;
  if (direction != direction_) ++(direction < 0 ? statistics_->lowered : statistics_->raised);
  direction_ = direction;
}

void Allowance::pressed(bool in_motion) {
  os::event_clear(event_);
  if (!in_motion) look_soon();
}

/// What is left for pages of a budget of so many bytes: the runtime itself lives on it too.
uint32_t Allowance::pages_within(uint64_t bytes, uint64_t own) const {
  const uint64_t least = kLeastPages * os::page_size();
  const uint64_t pages = (bytes > own + least ? bytes - own : least) >> os::page_shift();
  return static_cast<uint32_t>(std::min<uint64_t>(pages, kNoSlot - 1));
}

bool Allowance::divide(uint64_t own_bytes, uint64_t file_bytes) {
  const uint64_t budget = limit_.budget();
  // What the runtime takes is partly estimated, from above, and what is counted may come to a little more than there is.
  statistics_->budget_bytes = std::min(budget, limit_.size() - std::min(limit_.size(), limit_.kept()));
  budget_.store(budget, std::memory_order_relaxed);
  // Beside paged memory, files get up to a quarter: the kernel would leave their pages what nobody else wants.
  const uint64_t share = std::min(file_bytes, budget / 4), rest = budget - share;
  for_files_.store(share, std::memory_order_relaxed);
  for_pages_.store(uint64_t{pages_within(rest, own_bytes)} << os::page_shift(), std::memory_order_relaxed);
  const uint32_t before = pages_;
  pages_ = pages_within(std::min(limit_.ceiling(), rest), own_bytes);
  return pages_ > before;
}

uint32_t Allowance::exposed(uint32_t used, uint64_t burst) const {
  const unsigned shift = os::page_shift();
  return static_cast<uint32_t>(limit_.exposed(uint64_t{used} << shift, burst) >> shift);
}

bool Allowance::exceeded(uint32_t used, uint64_t now) {
  if (used <= pages_) {
    if (over_since_ns_) statistics_->slowest_give_back_ns = std::max(statistics_->slowest_give_back_ns, now - over_since_ns_);
    over_since_ns_ = 0;
    over_most_ = 0;
    return false;
  }
  if (over_since_ns_ == 0) over_since_ns_ = now;
  // What faults did not take of their part goes to who needs the memory.
  over_from_ = used > over_most_ ? used : over_from_ - (over_from_ > used ? (over_from_ - used) / 2 : 0);
  over_most_ = std::max(over_most_, used);
  return true;
}

} // namespace pagecast
