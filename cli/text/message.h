// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the command speaks: results on stdout, everything else one line on stderr.
#pragma once
#include <string>

namespace pagecast::cli {

/// The exit status of a wrong invocation. The programs that `run` and `cc` become have their own.
inline constexpr int kBadUsage = 2;

/// A failure that ends the command: one sentence that says what was wrong and what to do.
struct Failure {
  std::string sentence;
};

/// Prints "pagecast: SENTENCE" and returns kBadUsage.
int reportFailure(const std::string &sentence);

/// Prints "pagecast: warning: SENTENCE".
void warn(const std::string &sentence);

/// The text of an errno value, without the capital letter that would break a sentence.
std::string errorText(int error);

} // namespace pagecast::cli
