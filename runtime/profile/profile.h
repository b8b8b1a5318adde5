// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the rest of the runtime tells a profile (PACT 2008, section 4.2): which nests are entered, which files are mapped,
// and what is read of them. On entry the bounds of a nest are known, and so is all that its direct references will touch.
//
// Nothing is paged while a profile is taken. All of this costs one load where none is.
//
// Threads: any.
#pragma once
#include "pagecast/abi.h"
#include "runtime/state/options.h"

#include <atomic>
#include <cstdint>

namespace pagecast::profile {

extern std::atomic<bool> on;
inline bool is_on() { return on.load(std::memory_order_relaxed); }
/// Nests that touch fewer bytes at an entry are not seen.
inline constexpr uint64_t kGate = 4u << 10;

/// Once. False: there is no memory for it.
bool start(const Options &);
/// In the child of a fork, with all of locks.h held: it writes a part of its own.
void forked();

/// A nest is entered with these arguments (entry/nest_args.h). Returns whether its end should be told, for which `entry` is.
struct Entry {
  uint64_t *end_ns[PAGECAST_MAX_GROUPS]; ///< of the records that it has
  unsigned count;
  uint32_t generation;
};
bool enter(const pagecast_nest &, const uint64_t *args, Entry *entry);
void leave(const Entry &);

void map(uint64_t begin, uint64_t bytes, int fd, uint64_t offset);
void unmap(uint64_t begin, uint64_t end);
void move(uint64_t begin, uint64_t end, uint64_t to, uint64_t bytes);
/// `bytes` were read, as a program's function had asked for: `at`, or where the file's position was before (-1).
void read(int fd, int64_t at, uint64_t bytes);

} // namespace pagecast::profile
