// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process's membership in a job (job.h): it says what its nests will touch, and hears whether the helper asks for that.
//
// Pager's thread.
#pragma once
#include "runtime/nbd/job.h"

namespace pagecast {

class Membership {
public:
  /// Joins, the first time: `helper` is the helper's process number; 0: there is none. Whether it is a member.
  bool join(int helper);
  /// In the child of a fork: the number stays the parent's.
  void forget();
  /// Whether the helper lives. Cost: a system call.
  bool has_helper() const;

  /// The number of the export in the job, or -1: there is no room.
  int number_of(const char *uri, uint64_t bytes, uint64_t block);
  /// An entry that is not open, to be filled; -1: all are.
  int find_entry() const;
  JobEntry &operator[](int entry) { return job_->member[member_].entry[entry]; }
  /// What the entry says stays from now on, and the helper learns of it.
  void open(int entry);
  void close(int entry);
  /// How far the nest has come, of 2^JobEntry::kDoneShift.
  void note(int entry, uint64_t done);
  /// The helper's answer to what is open there.
  JobVerdict verdict(int entry) const;

private:
  void wake() const;

  Job *job_ = nullptr;
  int memory_ = -1, pipe_ = -1, member_ = -1;
  bool tried_ = false;
};

} // namespace pagecast
