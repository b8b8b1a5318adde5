// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happened, for people (--summary) and programs (--stats). Filled by the controller's thread.
#pragma once
#include "speculate/shared/channel.h"
#include "speculate/tip/prefetcher.h"
#include "speculate/watch/ledger.h"

namespace pagecast::speculate {

inline constexpr unsigned kEndings = 12;

/// Why a copy ended, as the controller sees it: the copy's own word for it, or that it was ended from outside.
enum class Ending : unsigned {
  kFinished,    ///< the program ended in it
  kCall,        ///< a call that copies cannot answer
  kWritten,     ///< it would have read back its own writes
  kUnreadable,  ///< a read of a pipe, a terminal, a socket
  kDescriptors, ///< too many descriptors
  kSetUp,       ///< it could not be locked up
  kCrashed,     ///< it died: of a fault, or of a call that the filter kills for
  kAstray,      ///< the original waited for what it had not hinted
  kOld,         ///< it had lived its time
  kOriginal,    ///< the original ended
  kNoGain,      ///< the original's short waits have not become less
};
const char *name_of(Ending ending);

struct Statistics {
  double seconds = 0, running = 0, waiting_disk = 0, waiting_other = 0; ///< of the first process; the latter three by samples
  uint64_t looks = 0;
  uint64_t copies = 0, ended[kEndings] = {};
  uint64_t stopped_ns = 0, most_stopped_ns = 0; ///< the original, for copies
  uint64_t last_call = 0;                     ///< the last one that ended a copy
  uint64_t waits_hinted = 0, waits_missed = 0; ///< long waits of the original that were seen
  uint64_t waits_in_faults = 0;               ///< those in page faults, of which nobody knows where in which file
  uint64_t calls = 0, reads = 0, answered = 0, hinted = 0, waited = 0, guesses = 0, writes = 0; ///< of the copies
  uint64_t copy_faults = 0;   ///< page faults of the copies
  double copy_seconds = 0;    ///< processor time of the copies
  uint64_t original_reads = 0; ///< of the threads that had copies, after the first one: a thousand are enough
  double original_seconds = 0; ///< of processor time, in which they were made
  double own_seconds = 0;                     ///< processor time of the controller and the prefetcher
  uint64_t own_bytes = 0;                     ///< most memory that they had
  uint64_t named = 0;                         ///< hints made from argv
  int64_t status = -1; ///< how the program ended, as a shell tells it: its exit status, or 128 and the signal; -1 = not known
  char reason[160] = ""; ///< why there were no copies
  bool finished = false;
  PrefetchCounts prefetch;
  bool accounted = false; ///< the program was traced
  AccountCounts account;

  void add(const Channel &channel);
};

/// How much longer copies compute for a read than the program does: the paper's dilation factor. 0 = it is not known.
double dilation_of(const Statistics &statistics);

/// False: the file could not be written.
bool write_statistics(const Statistics &statistics, const char *path);
/// A few lines on `file`.
void print_summary(const Statistics &statistics, int file);

} // namespace pagecast::speculate
