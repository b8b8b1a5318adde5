// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The I/O node of a run that is made again: core's cache before the disk (arm.h), by events. Requests wait for blocks and for room, and
// hold what they write.
#pragma once
#include "core/sharing/storage_cache.h"
#include "simulator/sharing/arm.h"
#include "simulator/sharing/replay.h"
#include "simulator/sharing/virtual_time.h"
#include <map>
#include <set>

namespace pagecast::simulator {

class EventNode {
public:
  EventNode(Clock &, Processors &, const RunMachine &, uint32_t clients);

  /// `then` when the block is there. It is pinned, if `is_held`, until what is held has been written.
  void read(uint64_t block, uint32_t client, bool is_filled, bool is_held, std::function<void(uint32_t)> then);
  void prefetch(uint64_t block, uint32_t client);
  /// What was held goes to the disk, as one request.
  void write(uint64_t offset, uint64_t bytes, std::vector<uint32_t> held, Then then);

  /// Blocks that a request holds at a time.
  uint64_t share() const;
  uint32_t frames() const { return frames_; }
  /// So many more requests hold blocks.
  void serve(int more) { serving_ += uint32_t(more); }

  void report(RunReport *out) const;

private:
  void fetch(uint64_t block, uint32_t frame, bool is_waited_for);
  void go_on();
  void begin();
  void arrived(uint32_t frame);
  void let_go(uint32_t frame);
  void ask_again();

  Clock &clock_;
  Processors &processors_;
  const uint64_t turn_, block_;
  const uint32_t frames_, clients_;
  Arm arm_;
  std::vector<uint64_t> tables_;
  core::StorageCache cache_;
  std::vector<std::vector<Then>> waits_; ///< of each frame
  std::vector<Then> for_room_;
  std::set<uint32_t> filled_;
  std::map<uint64_t, Then> writes_;
  uint64_t token_ = 0, bytes_ = 0;
  uint32_t serving_ = 0;
  bool is_busy_ = false;
};

} // namespace pagecast::simulator
