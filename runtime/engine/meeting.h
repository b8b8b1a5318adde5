// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where members of a team meet: a program that comes to an interval for which the helper has not asked yet waits until it has. It
// does so when the last of the team has entered the interval before the one that precedes it. So no member is ahead by more than
// two intervals, and what one has read is still in the server's cache when the others come.
//
// The wait has an end, whatever the helper and the others do; a nest that has waited so long does not wait any more.
//
// The program's thread.
#pragma once
#include "core/arithmetic.h"
#include "runtime/engine/engine.h"
#include "runtime/nbd/job.h"

namespace pagecast {

inline constexpr uint64_t kLongestMeetingNs = 1'000'000'000; ///< a disk brings dozens of blocks in that time
inline constexpr uint64_t kMeetingLookNs = 20'000'000; ///< for what nobody wakes: a helper that has died

/// Whether the helper has not asked for what the program comes to, of how much it has: `asked`.
inline bool must_meet(const OpenNest &nest, const JobEntry &entry, uint32_t *asked) {
  const JobVerdict verdict = entry.answer();
  *asked = entry.asked.load(std::memory_order_acquire);
  if (verdict.kind != JobVerdict::kServed) return false;
  const uint64_t now = core::rescale(nest.step(), nest.policy.steps(), verdict.intervals);
  return *asked <= now && *asked < verdict.intervals;
}

/// Waits for the others; the entry's counts say so. `clock`: now_ns(), and wait(word, value, ns), which returns when the word has
/// changed, or that time has passed, or sooner. Returns for how long; 0: not at all.
template <class Clock> uint64_t wait_for_team(OpenNest &nest, Clock &&clock) {
  uint64_t since = 0, waited = 0;
  JobEntry *at = nullptr;
  uint32_t asked;
  for (JobEntry *e; (e = nest.served.load(std::memory_order_acquire)) && must_meet(nest, *e, &asked);) {
    if (!at) at = e, since = clock.now_ns();
    if (clock.now_ns() - since > kLongestMeetingNs) nest.served.store(nullptr, std::memory_order_relaxed);
    else clock.wait(&e->asked, asked, kMeetingLookNs);
  }
  if (!at) return 0;
  waited = clock.now_ns() - since;
  at->meetings.fetch_add(1, std::memory_order_relaxed);
  at->met_ns.fetch_add(waited, std::memory_order_relaxed);
  return waited + (waited == 0);
}

void meet(OpenNest &, Engine &);

} // namespace pagecast
