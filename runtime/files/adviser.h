// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adviser's thread: takes what the pager's thread has put into the queue, and makes the calls; between them it looks what
// of the files is still in memory.
#pragma once
#include "core/types.h"
#include "runtime/files/advice_queue.h"
#include "runtime/files/fault_follower.h"
#include "runtime/files/file_table.h"
#include "runtime/files/read_around_watch.h"
#include "runtime/kernel/os.h"

#include <cstdint>

namespace pagecast {

class Adviser {
public:
  Adviser(FileTable &table, AdviceQueue &queue) : table_(table), queue_(queue) {}
  /// False: not enough address space.
  bool start() { return follower_.start(); }
  /// The thread's body; never returns.
  void run();
  /// In the child of a fork, before its own.
  void forked() {
    passed_count_ = 0;
    watch_.forked();
    follower_.forked();
  }

private:
  void work_off();
  uint64_t follow_faults();
  void ask_for(iovec *, unsigned ranges, uint64_t bytes);
  core::Extent absent_part(core::Extent);
  void unmap_passed();
  void expect(const Hint &);
  bool renew(const FileRegion &, uint64_t address);
  bool refresh();

  static constexpr unsigned kBatch = 64; ///< ranges in one call
  FileTable &table_;
  AdviceQueue &queue_;
  ReadAroundWatch watch_{table_};
  FaultFollower follower_{table_};
  uint64_t refresh_at_ = 0; ///< address
  UnderWay under_way_;
  core::Extent passed_[kBatch];
  unsigned passed_count_ = 0;
};

} // namespace pagecast
