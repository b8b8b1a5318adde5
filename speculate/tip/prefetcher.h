// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The prefetcher that takes the hints (in the paper: TIP). It carries them out in their order, some at a time, and joins
// those that follow each other in a file.
//
//   depth    how many at a time, for each device: what it can do at once is found by asking it; hints that are often
//            wrong get less
//   lead     bytes that were fetched and not read yet: bounded by a share of memory, so that nothing is evicted unread
//   cancel   what a copy that went astray has left in the queue is dropped
//   kept     what a device's file system does not keep in memory is not fetched: one hint of each kind finds out
//   passed   the program already waits for a hint: what the same copy has given before it is too late and dropped
//
// Example: slices. 1,024 hints of 2 KiB, each a megabyte apart, 32 at a time: the program finds each row in memory.
//
// Threads: one gives hints, one controls, the workers are its own. No allocation after start().
#pragma once
#include "speculate/shared/channel.h"
#include "speculate/tip/depth.h"
#include "speculate/tip/kept.h"
#include "speculate/watch/hint_log.h"
#include <condition_variable>
#include <mutex>

namespace pagecast::speculate {

struct PrefetchCounts {
  uint64_t hints = 0;      ///< given
  uint64_t done = 0;       ///< carried out: something was not in memory
  uint64_t in_memory = 0;  ///< all was there
  uint64_t begun = 0;      ///< the copy's own attempt had begun to read it
  uint64_t cancelled = 0;  ///< dropped: their copy went astray
  uint64_t late = 0;       ///< dropped: the program had come to them
  uint64_t failed = 0;     ///< no such file
  uint64_t in_vain = 0;    ///< dropped: what they fetch does not stay in memory
  uint64_t joined = 0;     ///< carried out with the one before
  uint64_t bytes = 0;      ///< read into memory
  uint64_t nanoseconds = 0; ///< of `requests`, added up
  uint64_t requests = 0;    ///< that a device was asked
  uint64_t depth = 0;       ///< how many at a time, at the end
};

class Prefetcher {
public:
  static constexpr unsigned kQueue = 4096; ///< hints; a power of two
  static constexpr unsigned kWorkers = Depth::kMost;

  /// Starts the workers. False: there are no threads to be had.
  bool start(HintLog *log);

  /// Takes a hint. False: the queue is full.
  bool give(const Hint &hint);
  /// Drops what copies up to this number have left.
  void cancel(uint32_t copy);
  /// The same, at once. Returns how many.
  uint64_t drop_queued(uint32_t copy);
  /// The program waits for this place, or this name.
  void passed(uint64_t inode, uint64_t offset, const char *path);
  /// No more than so many at a time: these hints are often wrong.
  void limit_depth(unsigned most);
  void set_lead(uint64_t bytes);
  /// The lead in bytes as the program reads them: less than the lead, where it reads small parts of pages.
  uint64_t lead_as_read();
  /// Where nobody calls consumed(): bytes that this process has read, its workers' included.
  void set_progress(uint64_t (*read_so_far)()) { read_so_far_ = read_so_far; }
  /// The program has read so many bytes more.
  void consumed(uint64_t bytes);
  PrefetchCounts counts();
  /// What is known of the listings of a device: whether they stay in memory. 0: the one that was asked last.
  Kept listings_of(uint64_t device);
  /// Hints of this copy that were carried out.
  uint64_t done_for(uint32_t copy);
  /// Hints of the copy that done_for() was asked about that were in vain.
  uint64_t in_vain_for(uint32_t copy);
  uint64_t queued();

private:
  enum Matter : unsigned { kData, kFacts, kListings, kMatters };
  static Matter matter_of(HintKind kind) {
    return kind == HintKind::kStat ? kFacts : kind == HintKind::kDirectory ? kListings : kData;
  }
  struct Device {
    uint64_t id = 0;
    Kept kept[kMatters];
    bool listing = false; ///< whether listings are kept is being tried: the others wait
    Depth depth;
    unsigned active = 0; ///< requests
  };
  struct Item {
    Hint hint;
    bool dropped;
  };

  bool start_worker();
  static void *run(void *self);
  void work();
  Device &device_of(const Hint &hint);
  void wait_for_work();
  bool can_take();
  void wake();
  bool take(Hint *hint);
  void join(Hint *hint);
  bool is_in_vain(const Hint &hint) { return device_of(hint).kept[matter_of(hint.kind)].is_in_vain(); } ///< with the lock
  bool must_wait(const Hint &hint);
  bool is_known(const Hint &hint, Matter matter);
  void saw(const Hint &hint, Matter matter, bool there, bool clearly = false);
  bool is_listed_in_vain(const Hint &hint);
  int fetch_facts(const Hint &hint);
  int fetch_names(const Hint &hint, char *scratch);
  void carry_out(Hint &hint, class FetchedFile &file, char *scratch);
  void fetch_range(Hint &hint, class FetchedFile &file, char *scratch);
  void answered(const Hint &hint, uint64_t nanoseconds);
  bool is_cancelled(const Hint &hint);
  bool is_cancelled_now(const Hint &hint) const { return hint.copy && hint.copy <= cancelled_; } ///< with the lock
  /// Memory holds whole pages of what is asked for in bytes: small parts take more of it.
  double pages_per_byte() const { return fetched_ ? static_cast<double>(paged_) / static_cast<double>(fetched_) : 1; }
  bool is_too_far() const { return static_cast<double>(fetched_ - consumed_) * pages_per_byte() > static_cast<double>(lead_); }
  void look_at_progress();

  std::mutex mutex_;
  std::condition_variable change_;
  Item *items_ = nullptr;
  uint64_t head_ = 0, tail_ = 0; ///< ever growing
  unsigned active_ = 0; ///< of all devices
  unsigned idle_ = 0;    ///< workers that wait
  bool looking_ = false; ///< one of them looks for room in the lead
  unsigned started_ = 0; ///< workers; another when all are busy and there is room
  const Hint *running_[kWorkers] = {}; ///< what workers carry out
  static constexpr unsigned kDevices = 8;
  Device devices_[kDevices];
  unsigned known_ = 0, last_ = 0; ///< devices; the one that was asked last
  uint32_t cancelled_ = 0; ///< copies up to this number
  uint64_t lead_ = 256u << 20, fetched_ = 0, consumed_ = 0; ///< bytes
  uint64_t paged_ = 0; ///< bytes of the pages that `fetched_` is in
  uint64_t (*read_so_far_)() = nullptr;
  uint64_t read_at_start_ = 0, read_by_workers_ = 0; ///< bytes, by read calls
  uint64_t looked_ = 0; ///< ns: when the progress was looked at
  uint32_t counted_copy_ = 0;
  uint64_t counted_done_ = 0, counted_in_vain_ = 0;
  PrefetchCounts counts_;
  HintLog *log_ = nullptr;
};

} // namespace pagecast::speculate
