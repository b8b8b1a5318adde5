// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sees every read of a program and of the processes that it starts, and what they write and map, by stopping them at each system
// call: for accounts, never for runs that are timed. Copies are not traced: they are let go of when they have been locked up.
//
// One thread, the controller's, which also makes the copies: a program has one tracer.
#pragma once
#include "speculate/watch/ledger.h"
#include <sys/types.h>
#include <unordered_map>

namespace pagecast::speculate {

class ReadsTracer {
public:
  explicit ReadsTracer(Ledger *ledger) : ledger_(ledger) {}

  /// Makes the caller the process's tracer; it is stopped at its calls from its next exec on. False: errno.
  static bool attach(pid_t process);
  /// Sees to what is traced for so long.
  void serve(uint64_t nanoseconds);
  /// A thread has stopped, or has ended: notes what it does and lets it go on.
  void see(pid_t thread, int status);
  /// Whether it has stopped there, which is noted.
  bool is_end_of_call(pid_t thread, int status);
  /// It goes on to its next call, with a signal or none.
  static void go_on(pid_t thread, int signal);

private:
  /// A call that a thread is in, of those that are noted.
  struct Begun {
    uint64_t number = 0, arguments[6] = {};
    bool reads = false;
    Ledger::Reading reading;
  };
  bool see_call(pid_t thread);
  bool find_read(pid_t thread, uint64_t number, const uint64_t *arguments, Ledger::Reading *reading);
  void note(pid_t thread, const Begun &call, uint64_t result);

  Ledger *ledger_;
  std::unordered_map<pid_t, Begun> begun_;
};

} // namespace pagecast::speculate
