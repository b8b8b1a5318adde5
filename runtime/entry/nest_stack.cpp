// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/entry/nest_stack.h"

#include "runtime/entry/profiled_nests.h"
#include "runtime/kernel/os.h"
#include "runtime/state/statistics.h"

#include <algorithm>
#include <pthread.h>

namespace pagecast {
namespace {

constexpr unsigned kDepth = 8;
struct Entered {
  OpenNest *nest;
  const void *frame;
};
thread_local Entered open_stack[kDepth] __attribute__((tls_model("initial-exec")));

/// Threads that end inside nests (pthread_exit, cancellation) take them along.
pthread_key_t end_of_thread;
bool end_is_watched = false;
thread_local bool will_close __attribute__((tls_model("initial-exec"))) = false;

void close_at_end_of_thread() {
  if (will_close || !end_is_watched) return;
  will_close = pthread_setspecific(end_of_thread, &will_close) == 0;
}

void thread_ends(void *) {
  will_close = false; // what comes after us may enter nests
  close_until(0);
}

void close_nest(OpenNest *nest) {
  if (nest->is_profiled) return close_profiled(nest);
  nest->state.store(OpenNest::kClosing, std::memory_order_seq_cst);
  // The slice reads the program's memory, which may be freed once we return.
  if (!nest->slicing.load(std::memory_order_seq_cst)) return;
  SliceStatistics *const costs = nest->costs.load(std::memory_order_relaxed);
  const uint64_t since = os::now_ns();
  while (nest->slicing.load(std::memory_order_seq_cst)) os::futex_wait(reinterpret_cast<uint32_t *>(&nest->slicing), 1);
  if (costs) costs->waited_ns.fetch_add(os::now_ns() - since, std::memory_order_relaxed);
}

/// Closes nests whose frames have gone without passing an exit: longjmp, exceptions. The stack grows down.
void close_below(const void *frame) {
  while (pagecast_open_count && open_stack[pagecast_open_count - 1].frame < frame) close_until(pagecast_open_count - 1);
}

} // namespace

bool open_room() { return pagecast_open_count < kDepth; }

void push_open(OpenNest *nest) {
  open_stack[pagecast_open_count++] = {nest, nest->frame};
  close_at_end_of_thread();
}

OpenNest &open_at(unsigned index) { return *open_stack[index].nest; }

unsigned index_of(const pagecast_ticket *ticket) {
  for (unsigned i = pagecast_open_count; i-- > 0;)
    if (&open_stack[i].nest->ticket == ticket) return i;
  return pagecast_open_count;
}

OpenNest *covering(const pagecast_nest &d, const void *frame) {
  for (unsigned i = pagecast_open_count; i-- > 0 && open_stack[i].frame == frame;) {
    const OpenNest &open = *open_stack[i].nest;
    const bool beside = d.root && open.description->root == d.root;
    if (open.covers && !beside) return open_stack[i].nest;
  }
  return nullptr;
}

void close_until(unsigned left) {
  while (pagecast_open_count > left) close_nest(open_stack[--pagecast_open_count].nest);
}

/// One frame may have several open, one inside the other, but each only once.
void close_stale(const pagecast_nest *d, const void *frame) {
  close_below(frame);
  for (unsigned i = pagecast_open_count; i-- > 0 && open_stack[i].frame == frame;)
    if (open_stack[i].nest->description == d) close_until(i);
}

void close_finished(unsigned i) {
  close_below(open_stack[i].frame);
  close_nest(open_stack[i].nest);
  std::copy(open_stack + i + 1, open_stack + pagecast_open_count, open_stack + i);
  --pagecast_open_count;
}

void watch_ends_of_threads() {
  if (!end_is_watched) end_is_watched = pthread_key_create(&end_of_thread, thread_ends) == 0;
}

void nests_forked() {
  for (OpenNest &nest : nest_table) {
    nest.slicing.store(0, std::memory_order_relaxed);
    nest.sliced = false; // the copy may be in the middle of something
    const uint32_t state = nest.state.load(std::memory_order_relaxed);
    if (index_of(&nest.ticket) < pagecast_open_count || state == OpenNest::kFree) continue;
    // Of a thread that is not here.
    if (nest.is_profiled) {
      nest.is_profiled = false;
      nest.state.store(OpenNest::kFree, std::memory_order_relaxed);
      continue;
    }
    nest.state.store(state == OpenNest::kClaimed ? OpenNest::kFree : OpenNest::kClosing, std::memory_order_relaxed);
    if (state != OpenNest::kClaimed) open_nest_mask.fetch_or(1u << number_of(&nest), std::memory_order_relaxed);
  }
}

} // namespace pagecast
