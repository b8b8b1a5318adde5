// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the backing store: what has failed, when to try again, and what the user has been told. Each kind of
// error is an episode: said when it begins and, where the program has to wait for its end, when that comes.
// Pager's thread only; times are arguments, in ns.
#pragma once
#include "runtime/state/statistics.h"
#include <cstdint>

namespace pagecast {

class DiskErrors {
public:
  static constexpr uint64_t kRetry = 500'000'000;          ///< between attempts at what failed
  static constexpr uint64_t kStall = 5'000'000'000;        ///< a request that takes longer is said
  static constexpr uint64_t kSilence = 10'000'000'000;     ///< between sentences about failures that come and go

  /// `directory` is named in the sentences, and must outlive this. `others`: there are other stores, which take what this one
  /// does not.
  void start(const char *directory, DiskErrorCounts *counts, bool others = false);

  /// Space could not be reserved (-errno). Until kRetry has passed, may_reserve() is false.
  void no_room(int error, uint64_t now);
  void space_again(uint64_t now);
  bool may_reserve(uint64_t now) const { return !full_since_ || now >= reserve_again_; }

  /// A write failed (-errno, or a count: it was short). Until kRetry has passed, may_write() is false.
  void write_failed(int result, uint64_t now);
  /// One succeeded that was started then: ends the episode, if it was not on its way before it.
  void wrote(uint64_t started, uint64_t now);
  bool may_write(uint64_t now) const { return !failing_since_ || now >= write_again_; }

  /// Data stay in memory because they cannot be written.
  bool writes_refused() const { return full_since_ || failing_since_; }

  /// A read failed (-errno, or a count). `lost`: pages that the program will not get back.
  void read_failed(int result, unsigned lost, uint64_t now);

  /// When the oldest request under way was started; 0: none is. `for_room`: it is not for data, but for room for them. To
  /// be called about once a second. An episode without room is counted up to `now`, though it goes on.
  void watch(uint64_t oldest, uint64_t now, bool for_room = false);
  bool stalled() const { return stalled_since_ != 0; }

private:
  void count_full(uint64_t now);

  const char *directory_ = "", *kind_ = ""; ///< for sentences
  DiskErrorCounts *counts_ = nullptr;
  bool others_ = false;
  uint64_t full_since_ = 0, reserve_again_ = 0;
  uint64_t failing_since_ = 0, write_again_ = 0, failure_said_ = 0;
  bool fails_for_room_ = false;      ///< the write that failed last did for lack of room
  uint64_t full_counted_until_ = 0;  ///< 0: there is room
  uint64_t read_said_ = 0;
  uint64_t stalled_since_ = 0;
  bool failed_meanwhile_ = false; ///< what was waited for was given up: that has been said, and is no answer
};

} // namespace pagecast
