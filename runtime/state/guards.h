// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guards: parts of allocations that the program has made unreadable (mprotect, pkey_mprotect). The program does not
// touch them, but slices, which read ahead of it, might, and would die where the program does not.
#pragma once
#include "runtime/kernel/lock.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

/// A set of addresses, kept as ranges. Changed by who holds the lock of allocations.cpp; asked by any thread.
class GuardTable {
public:
  void add(uint64_t begin, uint64_t end);
  void remove(uint64_t begin, uint64_t end);
  /// Cost: one load while the set is empty, else a lock and log2(ranges).
  bool holds(uint64_t address);
  /// Whether any of [begin, end) is in the set.
  bool overlaps(uint64_t begin, uint64_t end);
  unsigned ranges() const { return count_.load(std::memory_order_relaxed); }
  /// In the child of a fork: whoever was asking is not there.
  void forked() { lock_.release(); }

private:
  struct Range {
    uint64_t begin, end;
  };
  /// As many as a process may have mappings by default: a program does not get to more.
  static constexpr unsigned kMost = 65536;
  unsigned first_ending_after(uint64_t address) const;
  void replace(unsigned from, unsigned to, const Range *with, unsigned n);

  Lock lock_;
  Range *ranges_ = nullptr; ///< sorted, disjoint, not adjacent
  std::atomic<uint32_t> count_{0};
  std::atomic<bool> overflowed_{false}; ///< ranges are missing: everything counts as held
};

struct Guards {
  GuardTable unreadable; ///< mapped without PROT_READ
  GuardTable keyed;      ///< under a protection key, which not every thread holds
  bool hold(uint64_t address) { return unreadable.holds(address) || keyed.holds(address); }
};
extern Guards guards;

} // namespace pagecast
