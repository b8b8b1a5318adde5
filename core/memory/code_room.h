// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of a pool is left for pages that are not paged by the program's pager, but read from files by its page faults: its code,
// mostly. Linux gives them up before the pager's pages, and the program waits for each of them again.
//
// What shows that too little is left are pages of files which are read again soon after they had gone, while the program waits
// for pages of files. Where there is much page cache, they may be data of others, or files that a read call takes from the cache. So as
// many count there as the program's faults have read, if it maps no data itself.
//
//   much read again      the room grows to twice what it is, a tenth of a second apart: by 1/256 of the pool at least, and by 1/64 or a
//                        quarter of itself at most
//   at most              an eighth of the pool, or a half while the program does not mostly wait for the pager: then its data
//                        are not what is lacking
//   it mostly does       what is beyond an eighth goes back by the same steps, whatever is read again
//   none for a while     all goes back, by a sixty-fourth of the pool a second: after 1 s at first, and twice as long each time that
//                        this was too soon, up to 16 s
//
// A program that begins fills its memory once, and what it had read before that once more: the room for that is gone soon.
//
// A file that is read once is not read again, and brings no room. Not thread-safe. No clock, no system call.
#pragma once
#include <cstdint>

namespace pagecast::core {

/// What is known of reads of files in a pool. Counts are since any begin.
struct CodeReads {
  uint64_t again = 0; ///< pages, by anybody, that were read again soon after they had gone; 0 = not known
  uint64_t cache = 0; ///< bytes of page cache, now
  uint64_t by_faults = 0; ///< bytes that this program's faults have read from files; 0 = not known
  uint64_t waits = 0; ///< of this program, for pages of files
  bool maps_data = false; ///< it maps large files, whose pages its faults read, too
  uint64_t stalled_ns = 0; ///< that threads of this program waited for the pager
};

class CodeRoom {
public:
  /// A look, at `now_ns`, at a pool of `size` bytes. Returns the bytes to leave for code.
  uint64_t update(const CodeReads &, uint64_t size, uint64_t now_ns);
  /// Whether much was found to be read again at the last look.
  bool comes_back() const { return much_; }

  /// The part of the pool by which it grows at least, and that of the pool or of the room by which it does at most.
  static constexpr uint64_t kFirstStep = 256, kStep = 64, kGrowth = 4;
  static constexpr uint64_t kMost = 8, kMostUnstalled = 2; ///< the parts of the pool that it may come to
  static constexpr uint64_t kStepNs = 100000000; ///< between steps, so that the last one could tell
  static constexpr uint64_t kForNs = 1000000000, kMostForNs = 16 * kForNs; ///< it stays for so long when nothing is read again
  static constexpr uint64_t kRate = 4u << 20; ///< bytes a second that are read again: more is much
  static constexpr uint64_t kMuchCache = 8; ///< page cache of more than this part of a pool is not code alone

private:
  uint64_t count(const CodeReads &, uint64_t size);

  CodeReads seen_; ///< at the last look
  uint64_t again_ = 0, stalled_ns_ = 0; ///< pages that count, and time, since begin_ns_
  uint64_t begin_ns_ = 0; ///< of what is counted now
  uint64_t room_ = 0, grown_ns_ = 0; ///< bytes, and when they were last found to be too little
  uint64_t stays_ns_ = kForNs; ///< how long they stay after that
  bool shrank_ = false; ///< since then
  bool much_ = false;
};

} // namespace pagecast::core
