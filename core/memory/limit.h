// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much memory the program may hold now.
//
//   limit = min(cap, over all pools: what could be had, and where others use the pool * kShares / (kShares + 1))
//   what could be had = what the program holds + what is free - the pool's reserve
//
// A pool is memory that others use as well: the machine, or a control group with a limit. This is equation 1 of
// the OSDI 2000 paper, but for the last factor, which leaves a part of what could be had free. With it, every program
// wants kShares times what is left: n of them meet at shares of kShares / (1 + n * kShares), from any start and
// without knowing of each other, since one that holds more than its share finds too little left and gives some back,
// and one that holds less finds enough to grow (the dynamic thresholds of Choudhury and Hahne, 1998, for the
// queues of a switch). What a program that is none of ours takes is given back in equal parts in the same way.
//
// The limit falls at once and rises by a quarter of the pool in a second. Between two looks at the pools the program
// may fill only a part of what was free (the ceiling), so that several that fill the same pool at the same time do not
// exhaust it. Who is alone in the fullest pool may fill all of it. While others stall for memory in a pool (pressure-stall
// information), its reserve grows. It also grows while the program's code is read again and again (code_room.h).
#pragma once
#include "core/memory/code_room.h"

#include <cstdint>

namespace pagecast::core {

struct Pool {
  bool machine = false; ///< the machine's memory; else a control group's
  uint64_t size = 0; ///< bytes
  uint64_t free = 0; ///< bytes that anybody could have now, page cache that is easily given up included
  uint64_t stalled_ns = 0; ///< time in which somebody waited for memory, since any begin; 0 = not known
  bool tells = false; ///< when three quarters of the reserve are left, there will be an event
  bool shared = true; ///< others hold memory in it
  /// How often the limit was hit, or refused to fall, since any begin, though there was no page cache to give up and nobody
  /// else; 0 = not known.
  uint64_t hits = 0;
  /// Page cache of files that are read in it, bytes, where others hold memory in it that the kernel could put on swap for them.
  uint64_t read = 0;
  CodeReads code = {}; ///< reads of files in it
  /// Bytes of files that the program had read from disks since any begin; 0 = not known.
  uint64_t files_read = 0;
  uint64_t read_ahead = 0; ///< bytes that the kernel reads at once, ahead of who reads a file
  /// Waits for pages of mapped files in it, counted before they are read, since any begin, where the program maps none but its code;
  /// 0 = not known.
  uint64_t code_waits = 0;
};
inline constexpr unsigned kMostPools = 8;

/// What is left to others and to the kernel, bytes: of the machine 3 %, at least 64 MiB; of a control group 1/64 and
/// 2 MiB, for page tables, I/O under way, small data and what others take, or 1/256 and 512 KiB where the program
/// is alone, which learns from hits of the limit when that is too little.
///
/// Where others in the group may be swapped out for the sake of files that are read, four times what there is of them more, up
/// to 32 MiB and an eighth: with 4,096 pages of idle page cache to give up, Linux leaves memory that is not of files alone
/// (cache_trim_mode in mm/vmscan.c); with less, whoever reads a file costs a neighbour that sleeps its memory.
///
/// While the program reads files from disks, Limit keeps twice what the kernel reads ahead, and a folio more. Pages that are being
/// read cannot be given up, and without swap the kernel ends a program that needs a page while all of its page cache is on its way.
/// Of a short file it keeps four times what was read: so much more may be on its way next. When no more is read, it soon keeps no more
/// than there is of page cache, and a folio, and after a second that goes back, too. What is read for the program's code, which
/// comes by faults and is no stream, is no file that is read.
uint64_t reserve(const Pool &);

class Limit {
public:
  /// `cap`: the user's, bytes, at least `lowest`, below which the limit never falls.
  void start(uint64_t cap, uint64_t lowest);
  void cap(uint64_t bytes) { cap_ = bytes; }
  /// Another least.
  void lowest(uint64_t bytes) { lowest_ = bytes; }

  /// A look at the pools (at most kMostPools, always in the same order) while the program holds `used` bytes. Without
  /// pools, nothing being known, the budget stays as it is or, if it is lower, the cap. `spare`: bytes below the ceiling
  /// that the program keeps free, or fills soon: the next ceiling is above them, so that who never uses the last of
  /// what it may use comes to use the rest.
  void update(uint64_t now_ns, uint64_t used, const Pool *, unsigned pools, uint64_t spare = 0);

  uint64_t budget() const { return budget_; }
  /// What a program that holds `used` bytes would have to give back if others took `burst` bytes at once.
  uint64_t exposed(uint64_t used, uint64_t burst) const;
  /// What may be used until the next look, bytes; at most the budget.
  uint64_t ceiling() const { return ceiling_; }
  /// What was free in the fullest pool at the last look, reserve and all, bytes.
  uint64_t free() const { return free_; }
  /// What was to be left free in that pool, bytes.
  uint64_t kept() const { return kept_; }
  /// As much as may be is kept for files that are read (kSomeRead or more between two looks). Else another look may keep more, when
  /// more has been read.
  bool keeps_all_for_reads() const { return keeps_all_for_reads_; }
  /// So many bytes of files between two looks: files are being read.
  static constexpr uint64_t kSomeRead = 256u << 10;
  /// Code of the program is read again and again: CodeRoom::comes_back().
  bool code_comes_back() const { return code_comes_back_; }
  /// Nobody else holds memory in the fullest pool.
  bool alone() const { return alone_; }
  /// The size of the smallest pool, bytes.
  uint64_t size() const { return size_; }
  /// The ceiling is below the budget, and another look will raise it when what is below it has been used.
  bool rising() const { return rising_; }
  /// The ceiling will rise by so much that it is better to wait for that than to give up what is in memory.
  bool worth_waiting() const { return worth_waiting_; }
  /// Time to the next look, while the program holds memory: short after a fall, else that in which somebody who takes
  /// 256 MiB a second would use up what is free in a pool that does not tell; longer and longer while nothing changes.
  uint64_t interval_ns() const { return interval_ns_; }
  /// Looks on demand, when the ceiling is reached, are this far apart.
  static constexpr uint64_t kDemandNs = 2000000;
  /// Whether, since `passed_ns` ago, kFilled bytes may have been taken: `placed` by the program, the rest by somebody who takes
  /// memory quickly.
  static bool may_be_filled(uint64_t placed, uint64_t passed_ns) { return placed + passed_ns / kNsPerByte >= kFilled; }
  static constexpr uint64_t kFilled = 128u << 10;
  static constexpr uint64_t kNsPerByte = 4; ///< of somebody who takes memory quickly

  static constexpr uint64_t kShares = 64;

private:
  static constexpr uint64_t kLongNs = 50000000, kCalmNs = 8 * kLongNs, kShortNs = 10000000, kRestlessForNs = 500000000;
  static constexpr uint64_t kMostStrain = 4096; ///< times reserve / 1024

  /// What is remembered of a pool between looks.
  struct Strain {
    uint64_t stalled_ns = 0;
    uint64_t strain = 0; ///< in 1/1024: by how many times the reserve has grown
    uint64_t hits = 0, hit_ns = 0; ///< hits of the limit, and when the last ones were seen
    CodeRoom code; ///< what is left for code
    uint64_t files_read = 0, files_ns = 0; ///< as in Pool, and when files were last seen being read
    uint64_t for_reads = 0; ///< bytes that are kept for what is read ahead of the program
    uint64_t read_since = 0; ///< bytes, since something was kept
    uint64_t code_waits = 0, code_credit = 0, credit_ns = 0; ///< as in Pool; bytes that may be read for them yet, until then
  };
  uint64_t strained_reserve(const Pool &, Strain &, uint64_t now_ns, uint64_t passed_ns) const;
  /// What is kept for files that are read, bytes.
  static uint64_t room_for_reads(const Pool &, Strain &, uint64_t now_ns, uint64_t passed_ns);
  static uint64_t read_for_code(const Pool &, Strain &, uint64_t now_ns, uint64_t read);
  static uint64_t most_for_reads(const Pool &);

  uint64_t cap_ = ~uint64_t{0}, lowest_ = 0;
  uint64_t budget_ = 0, ceiling_ = 0, free_ = ~uint64_t{0}, kept_ = 0, size_ = ~uint64_t{0};
  uint64_t share_ = ~uint64_t{0}; ///< the budget if there were no cap
  bool rising_ = false, worth_waiting_ = false, alone_ = false, keeps_all_for_reads_ = false, code_comes_back_ = false;
  uint64_t now_ns_ = 0, restless_until_ns_ = 0, interval_ns_ = kShortNs, longest_ns_ = kLongNs;
  Strain strain_[kMostPools];
};

} // namespace pagecast::core
