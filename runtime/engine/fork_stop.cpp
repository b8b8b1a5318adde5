// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/fork_stop.h"

#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"

#include <cstring>

namespace pagecast {

// --- pager's thread -------------------------------------------------------------------------------

bool ForkStop::may_begin() {
  if (!pager_.room_for_child()) return false;
  // The child sees what was in memory, or what the nests of other threads have stored. A handler may fork in a nest, too.
  nests_.finish(pager_.memory.options->overwrite == 1);
  const bool behind_nests = nests_.finishing() && !NestRunner::all_stored();
  behind_nests_.store(behind_nests, std::memory_order_relaxed);
  return !behind_nests && pager_.regions.quiet(0, ~0ull) && !pager_.store.making_room();
}

void ForkStop::begin(uint64_t stack) {
  pager_.prepare_fork(stack, needed_, needed_count_);
  forking_.store(1, std::memory_order_release);
}

void ForkStop::hold_still() {
  constexpr uint64_t kPatienceNs = 1'000'000; // most forks take less
  constexpr uint64_t kNextFaultNs = 20'000; // who has a lock and faults may do so for each page of a heap
  bool served = false;
  while (forking_.load(std::memory_order_acquire)) {
    os::futex_wait(reinterpret_cast<uint32_t *>(&forking_), 1, served ? kNextFaultNs : kPatienceNs);
    if (!pager_.started() || !forking_.load(std::memory_order_acquire)) continue;
    pager_.faults.hand_over();
    served = pager_.still.serve();
  }
  pager_.still.settle();
  pager_.regions.end_quiet();
  nests_.finish(false);
  if (pager_.started()) pager_.limit.end_fork();
  pager_.memory.note_freed();
}

// --- the thread that forks -------------------------------------------------------------------------

void ForkStop::say_waits() {
  if (wait_said_) return;
  wait_said_ = true;
  if (behind_nests_.load(std::memory_order_relaxed))
    say("fork() waits for loops of other threads, which have yet to store what they overwrite: the child starts after that");
  else
    say("fork() waits for the disk of %s, which is slow to answer: the child starts after that, and nothing is lost",
        pager_.store.directory());
}

bool ForkStop::share(uint64_t stack, bool share) {
  // What a child needs of files, it can open; what is not to be shared of them is copied.
  if (pager_.started() && !share) return false;
  const int error = pager_.started() ? pager_.before_fork() : files_.copy_memory(stack);
  if (error) tell("a child cannot have paged data: %s", error_text(-error));
  return error == 0;
}

void ForkStop::go_on(bool shared) {
  if (shared && pager_.started()) pager_.after_fork();
  else if (shared) files_.memory_copied();
  forking_.store(0, std::memory_order_release);
  os::futex_wake(reinterpret_cast<uint32_t *>(&forking_));
}

} // namespace pagecast
