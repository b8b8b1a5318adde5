// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holding still for a fork. The child inherits the resident pages copy-on-write and the tables, and gets an engine of its own;
// where both must not disturb each other is in the backing files (store/fork_files.h). While the process is copied the
// pager's thread holds still, with no request under way, so that what the child inherits fits together.
//
// Steps: Engine::stop_for_fork() gives a command; may_begin() says when it can be done, begin() does it, hold_still() waits on the
// pager's thread; share() and go_on() are the forking thread's, before and after.
#pragma once
#include "runtime/engine/nest_runner.h"
#include "runtime/files/advise.h"
#include "runtime/pager/pager.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class ForkStop {
public:
  ForkStop(Pager &pager, Advise &files, NestRunner &nests) : pager_(pager), files_(files), nests_(nests) {}

  // --- pager's thread ---
  /// Whether nothing is under way, and what the child is to see has been stored. What would begin is stopped from the first
  /// call on.
  bool may_begin();
  /// Prepares for the fork. `stack`: see Pager::prepare_fork().
  void begin(uint64_t stack);
  /// Whose pages begin() brings in besides. The thread that forks, before it gives the command.
  void need(const uint64_t *needed, unsigned count) { needed_ = needed, needed_count_ = count; }
  /// Waits until it is over.
  void hold_still();

  // --- the thread that forks, under fork's locks ---
  /// Tells what it waits for. Once in a process and its children: programs may fork often.
  void say_waits();
  /// True if the child gets the regions, which `share` allows in the pager's case.
  bool share(uint64_t stack, bool share);
  /// In the parent. `shared`: what share() said.
  void go_on(bool shared);
  /// In the child.
  void forked() { forking_.store(0); }

private:
  Pager &pager_;
  Advise &files_;
  NestRunner &nests_;
  const uint64_t *needed_ = nullptr;
  unsigned needed_count_ = 0;
  std::atomic<uint32_t> forking_{0}; ///< a fork is going on
  std::atomic<bool> behind_nests_{false}; ///< what it waits for: other threads' nests, else the disk
  bool wait_said_ = false; ///< of the thread that forks
};

} // namespace pagecast
