// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which dirty pages are written before anybody needs their memory, and when. Written pages stay in memory, protected, so
// that a neighbour can have it at once: who takes memory takes it faster than disks write.
//
//   exposed   so much would have to be given back if others took `near` bytes at once (100 ms at 1 GB/s), or `far`
//   first     pages in the order in which they would go; so many as are exposed are to be clean
//   quiet     nothing has reached the pager for some time; then the program's processor time tells whether it
//     rests     waits for a user, a network, a timer: all that is exposed is cleaned, what is near one batch after the other,
//               the rest at an eighth of the disk's time
//     computes  in memory: what is near is cleaned, at an eighth of the disk's time
//     sweeps    computes in a nest, whose pages it will store to, or release: nothing is cleaned
//
// A batch is written only when no other I/O is under way, and a pause after it is measured by how long it took: a disk
// that is slow, or busy for others, gets less to do.
//
// What is stored to again was cleaned in vain. Each cluster (64 KiB with pages of 4) waits after such a store before it is
// cleaned once more, twice as long each time; one that stays clean for long enough waits less.
//
// No clock, no I/O: the caller passes the time. Not thread-safe. All in O(1).
#pragma once
#include <cstdint>

namespace pagecast::core {

class Cleaning {
public:
  static constexpr uint32_t kClusterPages = 16;
  static constexpr uint64_t kNearBytes = 128u << 20, kFarBytes = 1u << 30;
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr uint64_t kQuietNs = 20000000, kSampleNs = 10000000;

  /// What is remembered of a cluster; zero at first.
  struct Cluster {
    uint32_t since : 24;  ///< when it was cleaned, or stored to after that: in units of kTickNs, modulo
    uint32_t wait : 7;    ///< times cleaned in vain
    uint32_t cleaned : 1; ///< and not stored to since
  };
  static_assert(sizeof(Cluster) == 4);

  /// `clusters`: one for every kClusterPages slots, zeroed. Nothing is cleaned before the program has been seen.
  void start(Cluster *clusters);

  /// Something happened for the program.
  void disturbed(uint64_t now);
  /// Nothing more before the program is seen again.
  void stop() { next_ns_ = kNever; }
  /// Pages have gone: others are the first now.
  void gave_back(uint64_t now);
  /// When wanted() is to be asked next.
  uint64_t next_ns() const { return next_ns_; } ///< kNever: not before disturbed()

  struct Seen {
    uint64_t now;
    uint64_t cpu_ns; ///< the process's processor time
    bool in_nest;
    uint32_t near, far; ///< exposed pages
    uint32_t clean;     ///< of the first ones, as far as this round has come
  };
  /// How many of the first pages are to be clean, more than are; 0: nothing is to be written now.
  uint32_t wanted(const Seen &);
  /// True once at the begin of a round: the first pages are to be looked for again.
  bool begins();
  /// A batch is on its way; `done` tells that it has come to its end.
  void began(uint64_t now) { began_ns_ = now; }
  void done(uint64_t now);
  bool writing() const { return began_ns_ != 0; }
  /// There are no more that could be cleaned: again in a while.
  void ran_out(uint64_t now);

  // --- clusters ---
  /// Whether it is not too soon.
  bool may_clean(uint32_t slot, uint64_t now) const;
  void cleaned(uint32_t slot, uint64_t now);
  /// Whether the slot's cluster is cleaned, so that stored() is worth a call.
  bool is_cleaned(uint32_t slot) const { return clusters_ && clusters_[slot / kClusterPages].cleaned; }
  void stored(uint32_t slot, uint64_t now);

private:
  static constexpr uint64_t kTickNs = 1u << 24, kFirstWaitNs = 250000000, kLongNs = 1000000000;
  static constexpr unsigned kMostWaits = 12;
  static constexpr uint64_t kMostRestNs = 32 * kLongNs;
  enum class Pace : uint8_t { kUnknown, kRests, kComputes };

  static uint32_t ticks(uint64_t ns) { return uint32_t(ns / kTickNs) & 0xffffffu; }
  static uint64_t since(const Cluster &b, uint64_t now) { return uint64_t((ticks(now) - b.since) & 0xffffffu) * kTickNs; }
  static uint64_t wait_ns(unsigned times) { return times ? kFirstWaitNs << (times - 1) : 0; }
  void restart(uint64_t next);
  bool sample(const Seen &);

  Cluster *clusters_ = nullptr;
  uint64_t next_ns_ = kNever;
  uint64_t sampled_ns_ = 0, sampled_cpu_ns_ = 0; ///< 0: no sample since the program was seen
  Pace pace_ = Pace::kUnknown;
  bool begins_ = true;
  bool far_ = false;          ///< the batch under way is not urgent
  uint64_t began_ns_ = 0;     ///< 0: no batch is under way
  uint64_t rest_ns_ = kLongNs;///< after a round that found nothing more
};

} // namespace pagecast::core
