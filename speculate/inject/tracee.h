// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that is stopped for a moment. Whatever happens, it is let go of: by detach(), by the destructor, or by the kernel
// if the controller dies. All functions: from one thread of the controller.
#pragma once
#include <cstdint>
#include <sys/types.h>
#include <sys/user.h>

namespace pagecast::speculate {

/// Calls in which a thread may be stopped: they only read, and where the kernel lets a stop interrupt them they can be made
/// again unseen. `asleep`: in an interruptible wait (S), as file systems in user space have them for names.
bool may_stop_in(long call, bool asleep);

enum class Stopped {
  kYes,
  kRefused, ///< the host or the program does not allow it
  kNotNow,  ///< a signal came first, or it is gone
};

class Tracee {
public:
  Tracee() = default;
  Tracee(const Tracee &) = delete;
  Tracee &operator=(const Tracee &) = delete;
  ~Tracee() { detach(); }

  /// Stops the thread when it comes out of its wait, which lasts as long as it lasts.
  Stopped stop(pid_t process, pid_t thread, class ReadsTracer *tracer = nullptr); ///< `tracer`: traces it already
  /// Repairs what the stop itself may have done to a call (EINTR). False: leave the thread alone: it has a signal coming, or is in
  /// the middle of instructions that must not be interrupted (rseq). `in_fault`: it may be in no call, but in the program's own instructions.
  bool mend(bool in_fault);
  const user_regs_struct &registers() const { return registers_; }
  /// Writes instructions. False: they could not be written, nothing has changed.
  bool write_code(uint64_t address, const uint8_t *bytes, unsigned length);
  /// Lets it run from `address` until it has cloned itself. Returns the clone, which is held; 0 = none.
  pid_t run_to_clone(uint64_t address);
  void detach();

private:
  bool seize();
  bool is_in_restartable() const;

  class ReadsTracer *tracer_ = nullptr; ///< to which it is given back
  pid_t process_ = 0, thread_ = 0;
  int signal_ = 0; ///< to be handed on when it is let go of
  user_regs_struct registers_{};
};

/// The clone, before it has run. It dies with the controller from hold() to release().
class Clone {
public:
  explicit Clone(pid_t process) : process_(process) {}
  Clone(const Clone &) = delete;
  Clone &operator=(const Clone &) = delete;
  ~Clone();

  bool hold();
  /// Makes a call in it, by the call instruction at `at`. False: it could not be made.
  bool call(uint64_t at, long number, const uint64_t (&arguments)[6], uint64_t *result);
  bool write(uint64_t address, const void *from, uint64_t bytes);
  /// Lets it run at `address`, on `stack`, until a breakpoint. False: it ended before that.
  bool run_to_breakpoint(uint64_t address, uint64_t stack);
  /// It goes on by itself.
  bool release();

private:
  pid_t process_;
  bool held_ = false;
};

} // namespace pagecast::speculate
