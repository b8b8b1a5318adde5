// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapped files while no hint speaks of them, as of programs that were not compiled with pagecast, or in a library's sort by
// an index: whether the kernel should read around a miss there. core/files/read_around.h judges; here are the looks at one region at a
// time, as long as the program waits for reads. Cost: 64 samples of 64 pages, 0.3 ms, every 200 ms; and a look at the
// count of such faults every 200 ms to 1.6 s while there are none.
//
// Adviser's thread.
#pragma once
#include "core/files/read_around.h"
#include "runtime/files/file_table.h"

#include <cstdint>

namespace pagecast {

class ReadAroundWatch {
public:
  explicit ReadAroundWatch(FileTable &table) : table_(table) {}
  /// Looks, if it is time; returns how long it is until the next look, ns.
  uint64_t watch();
  /// At the last look, the program had waited for reads of files since the one before.
  bool program_waits() const { return waits_; }
  /// In the child of a fork: its faults are its own.
  void forked() {
    looked_ = waits_ = false;
    majors_ = 0;
  }

private:
  bool choose_watched();
  bool look_around(bool count);

  static constexpr unsigned kWatched = 64; ///< samples of the region that is watched
  FileTable &table_;
  core::ReadAround read_around_;
  FileRegion watched_;
  uint64_t was_there_[kWatched]; ///< at the last look
  bool looked_ = false; ///< there was one
  bool waits_ = false;
  unsigned watched_for_ = 0; ///< looks
  uint64_t next_watch_ = 0, watch_ns_ = 0, majors_ = 0;
};

} // namespace pagecast
