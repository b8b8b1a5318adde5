// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of files a program reads from disks, from three counts: what the kernel says that the process has read, what it says
// that the pager's thread has, and what the pager asked for.
//
// What the pager's thread reads beside that is the runtime's own code, which is cold when paging begins: some hundred KiB, and no
// file of the program's.
//
// The first counts some of the second twice. A read that would have to wait inside the kernel goes to a worker of io_uring, and is
// counted when it is tried and when it is made. That was 2 % of what was asked for, in bursts of some hundred KiB. So an eighth of what
// the pager asks for covers what is too much, and credit for at most kMostCredit is saved up.
//
// Not thread-safe.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class FileReads {
public:
  static constexpr uint64_t kPart = 8, kMostCredit = 1u << 20;

  FileReads() = default;
  /// In the child of a fork, of which the kernel counts from 0. `asked`: what was asked for before.
  explicit FileReads(uint64_t asked) : before_(asked) {}

  /// `all`: bytes that the kernel counted until now; `asked`: that the pager asked for until now, made or not; `thread`: that the
  /// kernel counted of the pager's thread. Returns the bytes of files until now.
  uint64_t update(uint64_t all, uint64_t asked, uint64_t thread) {
    asked = std::max(asked - std::min(asked, before_), thread);
    const uint64_t more = all - std::min(all, asked), grown = more - std::min(more, seen_more_);
    credit_ = std::min(credit_ + (asked - std::min(asked, seen_asked_)) / kPart, kMostCredit);
    seen_more_ += grown;
    seen_asked_ = std::max(seen_asked_, asked);
    const uint64_t covered = std::min(grown, credit_);
    credit_ -= covered;
    return bytes_ += grown - covered;
  }

private:
  uint64_t before_ = 0; ///< bytes, of `asked`
  uint64_t seen_more_ = 0, seen_asked_ = 0, credit_ = 0, bytes_ = 0;
};

/// How much of files a program's page faults read from disks, as they do code: what it reads from disks less what its read calls
/// give it, which may be in memory already. Not thread-safe.
class FaultReads {
public:
  /// `files`: bytes that it has read from disks, pages of regions aside; `calls`: bytes that its read calls gave. Returns the bytes
  /// that faults have read until now, and 1.
  uint64_t update(uint64_t files, uint64_t calls) {
    const uint64_t read = files - std::min(files, seen_files_), given = calls - std::min(calls, seen_calls_);
    bytes_ += read - std::min(read, given);
    seen_files_ = files;
    seen_calls_ = calls;
    return bytes_ + 1;
  }

private:
  uint64_t seen_files_ = 0, seen_calls_ = 0, bytes_ = 0;
};

} // namespace pagecast::core
