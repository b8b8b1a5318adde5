// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of what is touched, few where a program does the same over and over: an entry that touches the same blocks as one of
// the same thread a short time before is left out. A short time is a 1,024th of the time since the start, so that whoever
// divides the whole into hundreds of epochs misses nothing.
//
// Example: a loop reads 1,000 rows of 8 KiB, each in a nest of its own, in one second. Eight rows lie in a block, and they are
// one record; 1,000 entries become 125 records.
//
// Threads: whoever holds the profile's lock.
#pragma once
#include "core/sharing/reference.h"
#include "pagecast/abi.h"
#include "runtime/profile/data_sets.h"
#include "runtime/profile/part.h"

#include <cstdint>

namespace pagecast::profile {

// Which function of the program a call has come from, through whatever libraries: MPI reads on behalf of the program.

/// Once, early: what unwinds the stack may allocate when it is used first.
void prepare_callers();
/// An address in the innermost function of the program itself that has called this; NULL: there is none. Cost: 1 to 3 us.
const void *caller_in_program();

struct InProgram {
  const char *program; ///< its file
  uint64_t offset;     ///< as the file has it
};
InProgram place_of_address(const void *);

class Touches {
public:
  constexpr Touches(Part &part, DataSets &sets) : part_(part), sets_(sets) {}
  /// False: no memory.
  bool start(uint64_t now_ns, bool leaves_out_repeated);

  /// The numbers of phases. kNone: there are too many, or there is no room.
  static constexpr uint32_t kNone = ~0u;
  uint32_t nest(const pagecast_nest &);
  uint32_t caller(const void *address);

  /// Where its end is to be stored, or NULL if the touch is left out.
  uint64_t *add(uint32_t phase, uint32_t data_set, const core::Reference &, core::Stored, uint64_t now_ns);

private:
  void follow_part();
  bool announce(uint32_t data_set);
  bool is_repeated(uint64_t key, uint64_t now_ns);

  struct Seen {
    uint64_t key, at_ns;
  };
  static constexpr uint32_t kSeen = 1u << 15;
  static constexpr uint64_t kEpochs = 1024;
  struct Caller {
    const void *address;
    uint32_t generation, number;
  };
  static constexpr unsigned kMostCallers = 256;
  static constexpr uint32_t kMostPhases = 1u << 16; ///< the bits above are others' (entry/nest_entry.h), and are to be zero

  Part &part_;
  DataSets &sets_;
  Seen *seen_ = nullptr;
  bool leaves_out_repeated_ = true;
  uint64_t started_ns_ = 0;
  uint32_t phases_ = 0, generation_ = 0; ///< so many phases in that part
  Caller callers_[kMostCallers] = {};
  unsigned caller_count_ = 0;
};

} // namespace pagecast::profile
