// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast run --summary: the command stays beside the program, and when that has ended it says in one line what the run did
// and what the next step would be.
#pragma once
#include "cli/explain/measured.h"
#include "cli/programs/program_kind.h"
#include "cli/programs/scratch.h"
#include <functional>
#include <memory>
#include <string>

namespace pagecast::cli {

class Summary {
public:
  /// `statistics`: the file that the user wants; empty: one that goes with this object. `author`: of the program. Throws Failure.
  Summary(const std::string &statistics, Author author);
  Summary(const Summary &) = delete;
  Summary &operator=(const Summary &) = delete;

  /// The file that the program is to write.
  const std::string &statistics() const { return statistics_; }
  /// Has a child become the program, waits for it, says what it did on standard error, and ends as it has ended: with its exit
  /// status, or by its signal. `become` returns only by throwing Failure.
  [[noreturn]] void runAndSay(const std::function<void()> &become);

private:
  void say(const std::string &program_end) const;

  std::string statistics_;
  Author author_;
  std::unique_ptr<ScratchFolder> own_folder_; ///< none: the user named the file
};

/// The line for a run: time, waits, bytes, the share of pages that was foreseen, and the next step. That is chosen by what
/// most of the waiting was for: a run in which nearly all pages were foreseen may wait for the others alone. It is one that the
/// user can take: nobody compiles R anew for a script.
std::string summaryOf(const MeasuredRun &run, Author author);

} // namespace pagecast::cli
