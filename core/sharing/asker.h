// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who asks the server's cache for what a nest of a process will touch: the helper of its team, or the process itself, but never
// both. While the helper has not answered, nobody does, for a moment: what the process asked for then the helper would ask for,
// too. Where it has not answered in time, or has gone, the process asks. It asks, too, where the helper has declined, since the
// process shares with nobody: no one else wants these blocks, but several that follow each other are one request of the disk then.
// The answer has intervals so short that all who are alone do not ask for too much at a time.
//
// Example: a nest is laid open at 0 ms, and answered at 3 ms: the helper asks. Where it is killed at 50 ms, the process asks from
// there on.
//
// No clock. Not thread-safe.
#pragma once
#include <cstdint>

namespace pagecast::core {

inline constexpr uint64_t kAnswerNs = 20'000'000; ///< that a helper has for its answer

class Asker {
public:
  enum class Who : uint8_t { kNobody, kHelper, kProcess };
  enum class Answer : uint8_t { kNone, kServed, kDeclined };

  /// The nest begins. `laid_open`: to a helper.
  void open(bool laid_open, uint64_t now_ns) {
    opened_ns_ = now_ns;
    is_own_ = !laid_open;
    laid_open_ = laid_open;
  }
  /// From now on.
  Who who(Answer answer, bool has_helper, uint64_t now_ns) {
    if (laid_open_ && answer == Answer::kServed && has_helper) return Who::kHelper;
    is_own_ = is_own_ || answer == Answer::kDeclined || now_ns - opened_ns_ > kAnswerNs;
    return is_own_ ? Who::kProcess : Who::kNobody;
  }

private:
  uint64_t opened_ns_ = 0;
  bool is_own_ = true, laid_open_ = false;
};

} // namespace pagecast::core
