// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a given number of frames. Replacement is the core's: released pages first, then exact least
// recently used (every reference moves its page to the end of the active list).
#pragma once
#include "core/memory/replacement.h"
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace pagecast::simulator {

struct Frame {
  uint64_t page = 0;    ///< page number
  uint64_t arrives = 0; ///< cycle at which its data are there
  uint64_t asked = 0;   ///< cycle of the request
  bool prefetched = false;
  bool referenced = false;
};

class Memory {
public:
  explicit Memory(uint32_t frames);

  /// The frame of a page that is resident or in flight, or nullptr.
  Frame *find(uint64_t page);
  /// Moves the page to the end of the active list; it is not released any more.
  void touch(const Frame &);
  void release(const Frame &, unsigned priority);
  bool is_released(const Frame &) const;
  /// A frame for a page that is not in memory; evicts another when there is none free. nullptr: all frames
  /// are in flight. `now` decides which are. `evicted` sees the old page.
  Frame *allocate(uint64_t page, uint64_t now, const std::function<void(const Frame &)> &evicted);

  /// When the next frame stops being in flight; `now` when none is in flight.
  uint64_t next_arrival(uint64_t now) const;

  const std::unordered_map<uint64_t, uint32_t> &pages() const { return slot_of_; }
  const Frame &frame(uint32_t slot) const { return frames_[slot]; }

private:
  uint32_t slot(const Frame &f) const { return uint32_t(&f - frames_.data()); }

  std::vector<Frame> frames_;
  std::vector<core::Replacement::Link> links_;
  core::Replacement order_;
  std::vector<uint32_t> free_;
  std::unordered_map<uint64_t, uint32_t> slot_of_;
};

} // namespace pagecast::simulator
