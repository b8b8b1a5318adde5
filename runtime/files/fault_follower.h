// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of faults on mapped files: the kernel serves them, and tells of them where it may (FaultEvents). Where they go on at
// an even distance, down a column or down the panels of a matrix, the pages ahead are asked for, and misses are read alone while
// that brings the program forward faster than reading around does (core/files/read_around.h). Passes in order are the kernel's.
//
//   resting   the program does not wait for files, or following was of no use
//   looking   where do they lie? For half a second at most
//   helping   pages are asked for: 64 ahead of each stream, fewer where memory is small
//
// What was of no use is tried again after a second, and then after twice as long each time, up to a minute.
//
// Example: 40,000 rows of 24 KB, of which a product uses some columns at a time: places 24,000 bytes apart, and where these columns go
// over into the page behind, it is asked for with the first.
//
// Adviser's thread.
#pragma once
#include "core/faults/fault_streams.h"
#include "core/files/place_bytes.h"
#include "core/files/read_around.h"
#include "core/types.h"
#include "runtime/files/file_table.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include <cstdint>

namespace pagecast {

class FaultFollower {
public:
  explicit FaultFollower(FileTable &table) : table_(table) {}
  /// False: not enough address space.
  bool start() { return events_.start(); }
  /// Looks, if it is time, and returns how long it is until the next look, ns; ~0: until the program waits. Then next() says
  /// what is to be asked for. `waits`: the program has waited for reads of files lately.
  uint64_t look(bool waits);
  /// Up to `most` parts of files that the program will come to; returns how many. 0: no more until the next look.
  unsigned next(core::Extent *parts, unsigned most);
  /// In the child of a fork: its faults are its own.
  void forked();

private:
  /// A region with faults.
  struct Watched {
    FileRegion region; ///< bytes = 0: free
    core::FaultMix mix;
    uint64_t since = 0, read_bytes = 0; ///< when its count began, and what was read until then
    uint64_t used = 0; ///< the last fault in it, in looks
    bool apart = false; ///< pages are asked for, and misses read alone
  };
  enum class State { kResting, kLooking, kHelping };
  static constexpr unsigned kWatched = 8;

  void begin(uint64_t now);
  void go_on(uint64_t now);
  void rest(uint64_t now);
  void let_go();
  bool take_faults(uint64_t now);
  Watched *watched(uint64_t place, uint64_t now);
  void follow(Watched &, int64_t place);
  bool is_beyond(int64_t place);
  uint64_t siblings(const core::Stream &) const;
  void judge(uint64_t now);
  bool read_apart(Watched &, bool apart);

  FileTable &table_;
  os::FaultEvents events_;
  core::FaultStreams streams_{os::page_shift()};
  Watched watched_[kWatched];
  State state_ = State::kResting;
  uint64_t next_look_ = 0, pause_ns_ = 0; ///< between looks
  uint64_t since_ = 0, useful_at_ = 0; ///< when the state began; when a region was last found worth it
  uint64_t next_threads_ = 0; ///< when new threads are looked for
  uint64_t rest_ns_ = 0, looks_ = 0;
  core::PlaceBytes width_; ///< what is asked for at a place
  unsigned stream_ = 0; ///< next()'s
};

} // namespace pagecast
