// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that runs as a child of the command, which has something to say when it has ended.
#pragma once
#include "cli/programs/signals.h"
#include <functional>

namespace pagecast::cli {

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
