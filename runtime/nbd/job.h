// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that the members of a parallel program on one machine share with their helper (nbd/job_helper.h). Each says which
// blocks of which exports its open nests will touch, and how far it has come. The helper says who is served.
//
//   member    a process with a number, which is taken by a lock on a byte of the memory. So it is given back when the process ends
//   entry     one open nest of a member. `serial` makes it another one each time, so that an answer to an earlier one is told apart
//   verdict   the helper's answer: it asks for this entry's blocks, in so many intervals; or the member, which shares with nobody,
//             asks for itself, in so many at least
//
// The memory is the helper's descriptor kMemory, which members open by its process number, and so it goes with the helper. Its
// pipe, kPipe, wakes it. Nothing here has a name, and nothing is left behind.
#pragma once
#include "core/arithmetic.h"
#include "core/sharing/teams.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

/// Words of a verdict: the entry's serial, intervals, and the kind of answer.
struct JobVerdict {
  enum Kind : uint8_t { kNone, kServed, kOwn };
  uint32_t serial;
  uint32_t intervals;
  Kind kind;

  uint64_t packed() const { return uint64_t{serial} << 32 | uint64_t{intervals} << 2 | kind; }
  static JobVerdict of(uint64_t word) {
    return {static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word >> 2 & 0x3fffffff), static_cast<Kind>(word & 3)};
  }
};

struct JobEntry {
  static constexpr uint32_t kMostForeseen = 16;
  /// How far a nest has come is told in so many bits.
  static constexpr unsigned kDoneShift = 32;

  // --- the member's ---
  std::atomic<uint32_t> serial; ///< odd: open, and what follows stays until it is even
  uint32_t foreseen_count;
  uint32_t own_intervals; ///< that it has by itself
  uint64_t phase; ///< the nest, by its name
  core::Foreseen foreseen[kMostForeseen];
  std::atomic<uint64_t> done; ///< of 2^kDoneShift
  std::atomic<uint64_t> meetings, met_ns; ///< waits for others, of all nests that were ever open here

  // --- the helper's ---
  std::atomic<uint64_t> verdict;
  std::atomic<uint32_t> asked; ///< intervals that it has asked for, of those of the verdict

  /// The helper's answer to what is open now; kNone: it has not spoken yet. For the member.
  JobVerdict answer() const {
    const JobVerdict v = JobVerdict::of(verdict.load(std::memory_order_acquire));
    return v.serial == serial.load(std::memory_order_relaxed) ? v : JobVerdict{v.serial, 0, JobVerdict::kNone};
  }
};

struct JobMember {
  static constexpr unsigned kEntries = 4;
  int64_t rank; ///< -1: it has none
  JobEntry entry[kEntries];
};

struct JobExport {
  std::atomic<uint32_t> known; ///< what follows stays
  uint64_t bytes, block;
  char uri[1024]; ///< in no client's name
};

struct Job {
  static constexpr uint32_t kVersion = 2;
  static constexpr unsigned kMembers = 64, kExports = 8;
  enum Descriptor : int { kMemory = 3, kPipe, kReady, kDescriptors };
  /// Bytes of the memory whose locks mean something: those of the members' numbers come first.
  enum Lock : int { kHelperLock = kMembers, kExportsLock };

  uint32_t version;
  std::atomic<uint32_t> asleep; ///< the helper waits at its pipe
  JobExport exports[kExports];
  JobMember member[kMembers];

  /// The number of the phase that a nest is, by its line in the source.
  static uint64_t phase_of(const char *file, const char *function, uint32_t line) {
    return core::hash_of(function ? function : "", core::hash_of(file ? file : "") ^ line);
  }
};

} // namespace pagecast
