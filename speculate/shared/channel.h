// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a copy and its controller share while the copy runs: one anonymous file that both map.
//
//   position   bytes that the copy has read since it was made, hinted ones included: how far ahead it is
//   progress   bytes that the original has read since then (its rchar): what the position is compared with. When the copy is
//              further ahead than `ahead_limit`, it sleeps: what it reads must not displace what is not read yet
//   ring       hints in the order of the copy's reads. The copy writes at `head`, the prefetcher takes at `tail`
//
// Example: the copy has passed 40 files of 8 KiB, the original 3. position - progress = 37 * 8 KiB is the lead.
//
// Threads: the copy is the only writer of its part, the controller of the other. No lock: the copy may die at any point.
// The copy is freestanding: nothing here needs a library.
#pragma once
#include <cstdint>

namespace pagecast::speculate {

// --- paths ------------------------------------------------------------------------------------
//
// The number that stands for a path where paths are only compared: in the log of hints, and in a copy for names that directories
// have listed and files that it seems to have created. FNV-1a. Never 0, which stands for none. Freestanding.

inline uint64_t path_hash(const char *path) {
  uint64_t hash = 14695981039346656037ull;
  for (; *path; path++) hash = (hash ^ static_cast<unsigned char>(*path)) * 1099511628211ull;
  return hash ? hash : 1;
}

// --- the channel ------------------------------------------------------------------------------

inline constexpr uint64_t kRing = 1024;            ///< hints; a power of two
inline constexpr uint64_t kPathBytes = 448;        ///< longer paths are not hinted
inline constexpr uint64_t kSmallFile = 1u << 20;   ///< bytes: a file up to this is hinted as a whole at its first miss
inline constexpr uint64_t kSmallRead = 4096;       ///< bytes: a read up to this may say what is read next (a header)
inline constexpr uint64_t kGuessedSize = 8192;     ///< bytes that a file whose metadata is not known yet is said to have

enum class HintKind : uint32_t {
  kRange,     ///< bytes [offset, offset + length) of the file
  kOpen,      ///< a file whose size is not known yet: its metadata, then all of it if it is small, else its beginning
  kStat,      ///< its metadata alone
  kDirectory, ///< the names in it
  kAny,       ///< a file as of kOpen, or a directory: what it is is not known
};

struct Hint {
  HintKind kind;
  uint32_t copy; ///< number of the copy that gave it
  uint32_t begun; ///< 1: the copy has asked the kernel for it, which has probably begun to read it
  uint32_t unused;
  uint64_t device;         ///< that the file is on; 0 = not known
  uint64_t inode;
  uint64_t offset, length; ///< bytes
  uint64_t position;       ///< of the copy, when it gave the hint
  char path[kPathBytes];   ///< absolute
};
static_assert(sizeof(Hint) == 504);

/// Why a copy ended.
enum class Ended : uint32_t {
  kNot,         ///< it has not, or was killed from outside
  kFinished,    ///< the program ended in it
  kCall,        ///< a call that a copy cannot answer
  kWritten,     ///< it would have read back what it had only seemed to write, and that was not kept
  kUnreadable,  ///< a read of a pipe, a terminal or another file that has no blocks
  kDescriptors, ///< more descriptors than the table holds
  kSetUp,       ///< it could not be locked up, and so it never ran
};

struct Channel {
  // The controller's part.
  uint32_t stop;        ///< not 0: the copy ends at its next call
  uint32_t careful;     ///< which reads up to kSmallRead are waited for: 0 none, 1 a file's first one, 2 all
  uint64_t progress;    ///< bytes, see above
  uint64_t ahead_limit; ///< bytes that position may be beyond progress
  uint64_t tail;
  uint32_t listening; ///< 1: the reader of the ring sleeps until `head` changes
  uint32_t unlisted;  ///< 1: the storage lists directories anew for everyone, so the copy lists none of its own accord
  // The copy's part.
  uint32_t ended; ///< Ended
  uint32_t call;  ///< the number of the call that ended it, or of the step of its set-up
  uint64_t position;
  uint64_t calls, reads, answered_reads, hinted_reads, waited_reads, guesses, writes;
  uint64_t head;
  Hint ring[kRing];
};

} // namespace pagecast::speculate
