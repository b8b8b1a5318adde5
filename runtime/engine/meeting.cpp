// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/meeting.h"

#include "runtime/kernel/os.h"
#include "runtime/nbd/helper_start.h"

#include <cerrno>

namespace pagecast {
namespace {

struct RealClock {
  static uint64_t now_ns() { return os::now_ns(); }
  static void wait(const std::atomic<uint32_t> *word, uint32_t value, uint64_t ns) {
    os::wait_for_other_process(word, value, ns);
  }
};

} // namespace

void meet(OpenNest &nest, Engine &engine) {
  const int error = errno;
  if (const uint64_t waited = wait_for_team(nest, RealClock{})) {
    engine.statistics.far.meetings.fetch_add(1, std::memory_order_relaxed);
    engine.statistics.far.met_ns.fetch_add(waited, std::memory_order_relaxed);
    nest.met.store(true, std::memory_order_release);
    engine.poke();
  }
  errno = error;
}

} // namespace pagecast
