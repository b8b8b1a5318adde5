// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the command speaks: results on stdout, everything else one line on stderr.
#pragma once
#include <string>

namespace pagecast::cli {

/// The exit status of a wrong invocation. The programs that `run` and `cc` become have their own.
inline constexpr int kBadUsage = 2;

/// Those of a program that was asked for and cannot be started, as shells have them.
inline constexpr int kNotExecutable = 126, kNotFound = 127;

/// A failure that ends the command: one sentence that says what was wrong and what to do, and the exit status.
struct Failure {
  std::string sentence;
  int status = kBadUsage;
};

/// Prints "pagecast: SENTENCE" and returns the status.
int reportFailure(const Failure &failure);

/// Prints "pagecast: warning: SENTENCE".
void warn(const std::string &sentence);

/// The text of an errno value, without the capital letter that would break a sentence.
std::string errorText(int error);

} // namespace pagecast::cli
