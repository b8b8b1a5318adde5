// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/meeting.h"

#include "core/arithmetic.h"
#include "runtime/kernel/os.h"
#include "runtime/nbd/helper_start.h"
#include "runtime/nbd/job.h"

#include <cerrno>

namespace pagecast {
namespace {

constexpr uint64_t kMostNs = 1'000'000'000; ///< a disk brings dozens of blocks in that time
constexpr uint64_t kLookNs = 20'000'000;

/// Whether the helper has not asked for what the program comes to, of how much it has: `asked`.
bool must_wait(const OpenNest &nest, const JobEntry &entry, uint32_t *asked) {
  const JobVerdict verdict = entry.answer();
  *asked = entry.asked.load(std::memory_order_acquire);
  if (verdict.kind != JobVerdict::kServed) return false;
  const uint64_t now = core::rescale(nest.step(), nest.policy.steps(), verdict.intervals);
  return *asked <= now && *asked < verdict.intervals;
}

} // namespace

void meet(OpenNest &nest, Engine &engine) {
  const int error = errno;
  const uint64_t since = os::now_ns();
  bool waited = false;
  uint32_t asked;
  for (JobEntry *e; (e = nest.served.load(std::memory_order_acquire)) && must_wait(nest, *e, &asked); waited = true) {
    if (os::now_ns() - since > kMostNs) nest.served.store(nullptr, std::memory_order_relaxed);
    else os::wait_for_other_process(&e->asked, asked, kLookNs);
  }
  if (waited) nest.met.store(true, std::memory_order_release), engine.poke();
  errno = error;
}

} // namespace pagecast
