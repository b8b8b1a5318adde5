// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signals while the command stays beside a program that it started. They are meant for the program, and may have been sent to the
// command alone; the command has work to do after the program's end.
#pragma once
#include <csignal>
#include <sys/types.h>
#include <vector>

namespace pagecast::cli {

/// The process that signals are handed on to while a SignalsPassedOn lives; 0: none. Not what a terminal sends, since it sends that
/// to the program, too.
void passSignalsTo(pid_t child);

/// While this lives, signals that would end the command are handed on instead, but for those that were ignored already.
class SignalsPassedOn {
public:
  SignalsPassedOn();
  ~SignalsPassedOn() { restore(); }
  SignalsPassedOn(const SignalsPassedOn &) = delete;
  SignalsPassedOn &operator=(const SignalsPassedOn &) = delete;

  /// A child that gets the signals. In the child it returns 0, with all signals as they were before.
  pid_t forkChild() const;

private:
  struct Before {
    int signal;
    struct sigaction action;
  };
  void restore() const;
  std::vector<Before> before_;
};

/// While this lives the same holds, and at its end the command ends by the last signal that came.
class EndsAfterwards {
public:
  ~EndsAfterwards();

private:
  SignalsPassedOn signals_;
};

} // namespace pagecast::cli
