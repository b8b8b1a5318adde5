// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What slices may read: pages of regions that are in memory, where they are; other memory of the program as copies, made in a way that fails politely where there is none.
#pragma once
#include "runtime/state/regions.h"
#include "runtime/slices/machine.h"

namespace pagecast {

class Engine;

class SliceReader final : public SliceMemory {
public:
  /// `waits`: pages of regions are copied, too; absent ones are brought in by that. For any thread but the slicer's.
  /// False if there is no memory for the copies.
  bool start(Engine &, bool waits);
  /// Copies are of now, not of before: to be called before each run.
  void forget();
  /// Since then, a page was asked for that is on its way: the same run will get further later.
  bool was_early() const { return early_; }
  const uint8_t *readable(uint64_t page) override;

private:
  static constexpr unsigned kCopies = 128;
  static constexpr unsigned kFailures = 256; ///< system calls (0.5 us) in vain, then nothing outside regions is readable
  const uint8_t *copy(uint64_t page);

  Engine *engine_ = nullptr;
  bool waits_ = false;
  bool early_ = false;
  Region region_; ///< of the last look-up
  uint8_t *bytes_ = nullptr; ///< kCopies pages
  uint64_t page_of_[kCopies];
  unsigned copies_ = 0;
  unsigned failures_ = 0;
};

} // namespace pagecast
