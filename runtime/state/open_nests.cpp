// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of nests, and what other threads have to tell the nests in them.
#include "runtime/state/open_nests.h"

#include "runtime/kernel/os.h"
#include "runtime/state/locks.h"
#include "runtime/state/pages.h"
#include "runtime/state/statistics.h"

#include <algorithm>
#include <new>

namespace pagecast {

std::atomic<Engine *> engine_in_charge{nullptr};
constinit NestStorage nest_storage;
static_assert(kMostOpenNests == 1u << kNestBits);
std::atomic<uint32_t> open_nest_mask{0};

namespace {

std::atomic<uint32_t> made{0}; ///< bit i: nest i of the table has been constructed

void make(OpenNest &nest) {
  const uint32_t bit = 1u << number_of(&nest);
  if (made.load(std::memory_order_acquire) & bit) return;
  Guard guard(locks::nest_table);
  if (made.load(std::memory_order_relaxed) & bit) return;
  new (&nest) OpenNest;
  os::give_back_zeros(&nest, sizeof nest); // most of it: what belongs to slices, and to many groups
  made.fetch_or(bit, std::memory_order_release);
}

} // namespace

bool OpenNest::slice_runs() const {
  const SliceStatistics *const slice = costs.load(std::memory_order_relaxed);
  return sliced.load(std::memory_order_relaxed) && !(slice && slice->is_off.load(std::memory_order_relaxed));
}

OpenNest *claim_nest() {
  for (OpenNest &nest : nest_table) {
    make(nest);
    uint32_t expected = OpenNest::kFree;
    if (nest.state.load(std::memory_order_relaxed) == OpenNest::kFree &&
        nest.state.compare_exchange_strong(expected, OpenNest::kClaimed, std::memory_order_acquire))
      return &nest;
  }
  return nullptr;
}

void nest_measured(unsigned number, uint64_t latency_ns) {
  OpenNest &nest = nest_table[number % kMostOpenNests];
  if (nest.runs()) nest.policy.measured(latency_ns);
}

void nest_late(unsigned number, unsigned site) {
  OpenNest &nest = nest_table[number % kMostOpenNests];
  if (!nest.runs()) return;
  if (site >= nest.sites && site - nest.sites < nest.description->groups) nest.policy.late(site - nest.sites);
}

bool nest_not_there_yet(unsigned number, unsigned turn, uint32_t wanted_by, unsigned site) {
  OpenNest &nest = nest_table[number % kMostOpenNests];
  if (!nest.runs() || low_bits(nest.turn, kTurnBits) != turn) return false;
  const auto step = static_cast<uint32_t>(nest.step());
  const bool not_yet =
      low_bits(wanted_by - step, kWantedByBits) - 1 < 1u << (kWantedByBits - 1); // wanted_by > step, modulo 2^kWantedByBits
  if (not_yet) nest.policy.unused(1);
  const unsigned group = site - nest.sites;
  if (not_yet && group < nest.description->groups && (nest.description->group[group].flags & PAGECAST_INDIRECT))
    nest.slice_wasted.fetch_add(1, std::memory_order_relaxed);
  return not_yet;
}

namespace {
constexpr uint32_t kMissed = 8, kAstray = 64 * kMissed;

/// A nest that is open and has a direct reference which comes to `address`; NULL: none.
OpenNest *nest_around(uint64_t address) {
  for (OpenNest &nest : OpenNests()) {
    if (!nest.runs() || !nest.policy.plan().prefetches || nest.astray >= kAstray) continue;
    const core::Shape &shape = nest.policy.shape();
    for (unsigned g = 0; g < shape.groups; ++g)
      if (!shape.group[g].indirect && address - reach_of(shape, shape.group[g]).begin < reach_of(shape, shape.group[g]).size())
        return &nest;
  }
  return nullptr;
}
} // namespace

bool nest_covers(uint64_t address) { return nest_around(address) != nullptr; }

bool nest_missed(uint64_t address) {
  OpenNest *nest = nest_around(address);
  if (nest && !nest->policy.is_held()) nest->astray += kMissed;
  return nest != nullptr;
}

void nest_asked(unsigned number, uint32_t pages) {
  OpenNest &nest = nest_table[number % kMostOpenNests];
  nest.asks.fetch_add(1, std::memory_order_relaxed);
  if (nest.astray < kAstray) nest.astray -= std::min(nest.astray, pages);
}

} // namespace pagecast
