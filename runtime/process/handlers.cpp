// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/handlers.h"

#include "runtime/kernel/lock.h"
#include "runtime/kernel/message.h"
#include "runtime/state/handlers.h"
#include "runtime/state/open_nests.h"
#include "runtime/kernel/os.h"
#include "runtime/engine/engine.h"

#include <atomic>
#include <cerrno>

namespace pagecast {
namespace {

std::atomic<bool> watching{false};
std::atomic<uint32_t> installing{0}; ///< calls that are under way
std::atomic<bool> settled{false};    ///< a handler was seen, and nothing is left unread any more

} // namespace

void handlers_watch() {
  watching.store(true, std::memory_order_seq_cst);
  // A handler that is being installed has seen us watch, or is counted, or is known to the kernel by now.
  if (installing.load(std::memory_order_seq_cst) == 0 && os::handled_signals() == 0) return;
  handler_seen.store(true, std::memory_order_seq_cst);
  settled.store(true, std::memory_order_release);
  tell("the program handles signals: what nests store over is read before");
}

void nests_may_be_left() {
  const int saved = errno;
  const NoCancellation whole;
  handler_seen.store(true, std::memory_order_seq_cst);
  if (!settled.load(std::memory_order_acquire)) {
    // Without a pager no nest is open, and those that open later find that there is a handler.
    if (Engine *engine = engine_in_charge.load(std::memory_order_seq_cst)) engine->finish_overwriting();
    settled.store(true, std::memory_order_release);
  }
  errno = saved;
}

void handler_begins() {
  installing.fetch_add(1, std::memory_order_seq_cst);
  if (watching.load(std::memory_order_seq_cst)) nests_may_be_left();
}

void handler_stands() { installing.fetch_sub(1, std::memory_order_seq_cst); }

} // namespace pagecast
