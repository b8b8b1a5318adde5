// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The regions of files, and what the parts of advice share of them.
//
// Threads: who adds and removes regions is under the allocations' lock; all read under `lock`.
#pragma once
#include "core/residency.h"
#include "runtime/kernel/lock.h"
#include "runtime/state/options.h"
#include "runtime/state/regions.h"
#include "runtime/state/statistics.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

struct FileTable {
  /// `budget`: bytes. False: not enough address space.
  bool start(const Options &, core::ResidencyMap &, Statistics &, uint64_t budget);
  /// In the child of a fork: who held a lock only read, and is not there.
  void forked();

  // --- any thread ---
  bool any() const { return count.load(std::memory_order_relaxed) != 0; }
  /// A copy; bytes = 0 if the address is in none.
  FileRegion look_up(uint64_t address);
  /// The first one that ends above the address; bytes = 0 if none does.
  FileRegion at_or_after(uint64_t address);
  /// False: there is no room in the table.
  bool insert(const FileRegion &);
  /// Ends them; `unmapping` is held.
  void cut(uint64_t begin, uint64_t end);
  /// Tells the kernel, and counts that. `scattered`: a miss there should read its page alone.
  void expect_scattered(uint64_t base, uint64_t bytes, bool scattered);

  const Options *options = nullptr;
  core::ResidencyMap *residency = nullptr;
  Statistics *statistics = nullptr;
  unsigned shift = 12;
  uint64_t memory_bytes = 0; ///< the budget at the start

  Lock unmapping; ///< held while pages are taken out of the page table: no region ends meanwhile. Taken before `lock`
  Lock lock;      ///< of `regions`, and of the residency map's bits against the end of a region
  FileRegions regions;
  std::atomic<uint32_t> count{0};
  std::atomic<uint64_t> bytes{0};
};

} // namespace pagecast
