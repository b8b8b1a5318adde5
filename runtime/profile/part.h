// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file that this process writes its part of a profile to. It is mapped and shared, so that what has been written is there
// whatever ends the process. Room on the disk is reserved before it is stored to.
//
// Threads: whoever holds the profile's lock.
#pragma once
#include "core/sharing/touch_records.h"

namespace pagecast::profile {

class Part {
public:
  /// Makes the file in the directory when the first record comes. `generation` tells the parts of a process and of its
  /// children apart.
  void start(const char *directory) { directory_ = directory; }
  /// In the child of a fork: another part, of which nothing is written yet.
  void forked();
  uint32_t generation() const { return generation_; }

  /// Room for a record, whose head is filled; NULL, and counted, if there is none. `text`: bytes behind the record itself.
  template <class Record> Record *append(core::RecordKind kind, uint64_t text) {
    return static_cast<Record *>(append(kind, sizeof(Record), text));
  }
  /// The record is complete: who reads the file may see it.
  void commit(uint64_t now_ns);
  void note_time(uint64_t now_ns) {
    if (head_) head_->last_ns = now_ns;
  }

private:
  void *append(core::RecordKind kind, uint64_t bytes, uint64_t text);
  bool grow();
  bool make_file();

  static constexpr uint64_t kMostSegments = 256;
  const char *directory_ = nullptr;
  char path_[1024] = "";
  uint32_t generation_ = 1;
  bool failed_ = false;
  core::ProfileHead *head_ = nullptr;
  char *segment_ = nullptr;
  uint64_t segments_ = 0, used_ = 0; ///< used: of the segment
};

} // namespace pagecast::profile
