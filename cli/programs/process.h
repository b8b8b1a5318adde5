// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other programs as processes of ours: run to their end to read what they say, started with signals handed on to them, and waited
// for.
#pragma once
#include <csignal>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pagecast::cli {

enum class Keep { kOutput, kErrors };

struct Finished {
  int status = -1; ///< its exit status; -1 = it could not be started, or died of a signal
  std::string text; ///< what it wrote to the kept stream; the other one is dropped
};

/// Runs `command` with nothing on its standard input. The program is searched for in PATH.
Finished runProgram(const std::vector<std::string> &command, Keep keep);

// Signals while the command stays beside a program that it started. They are meant for the program, and may have been sent to the
// command alone; the command has work to do after the program's end.

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

// A program that runs as a child of the command, which has something to say when it has ended.

struct Ended {
  int status = 0; ///< its exit status
  int signal = 0; ///< the signal that ended it, or 0
};

/// Has a child become the program, and waits for it. `become` returns only by throwing Failure. Throws Failure if there can be
/// no child.
Ended runChild(const SignalsPassedOn &, const std::function<void()> &become);

/// Ends as it has ended: with its exit status, or by its signal.
[[noreturn]] void endAs(const Ended &);

} // namespace pagecast::cli
