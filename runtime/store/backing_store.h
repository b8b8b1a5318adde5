// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backing store: what the pager asks of the disk. It knows in which file a page's contents are, has room made before
// it writes, keeps the requests under way, and says when the disk fails. What becomes of the pages is the pager's.
//
//   read    direct, into staging; who asked takes the pages out of there, and calls read_done()
//   write   from where the page is, protected meanwhile; or from a copy, where the kernel cannot read it
//   map     an export that is mapped is a store of its own: nothing else goes there, and its pages go nowhere else
//   room    a write begins only where there is room for it in the file (preallocation.h)
//
// Pager's thread, but for what is said to be the thread's that forks.
#pragma once
#include "core/memory/staging_size.h"
#include "runtime/kernel/disk.h"
#include "runtime/kernel/os.h"
#include "runtime/state/pages.h"
#include "runtime/state/regions.h"
#include "runtime/state/statistics.h"
#include "runtime/store/disk_errors.h"
#include "runtime/store/fork_files.h"
#include "runtime/store/later.h"
#include "runtime/store/local_store.h"
#include "runtime/store/nbd_store.h"
#include "runtime/store/preallocation.h"
#include "runtime/store/requests.h"
#include "runtime/store/staging.h"
#include "runtime/store/stripes.h"

#include <cstdint>

namespace pagecast {

class BackingStore {
public:
  explicit BackingStore(Statistics &statistics) : statistics_(statistics) {}

  // --- start ---
  /// Memory for staging, and a file in each of `directories`, a list of directories and servers with commas. `budget`: bytes of memory that the program may hold;
  /// `overflow`: bytes that the disk should have free; `io`: bytes of the largest request. 0, or -errno with a sentence in `why`.
  int start(const char *directories, uint64_t budget, uint64_t overflow, uint64_t io, char *why, unsigned capacity);
  /// The same over stores that are made, of which each must outlive this.
  int start(Store *const *stores, unsigned count, uint64_t budget, uint64_t overflow, uint64_t io, char *why, unsigned capacity);
  /// How long a server that has gone away is waited for. Before start().
  void set_patience(uint64_t seconds) { patience_s_ = static_cast<unsigned>(seconds); }
  /// As far as there are offsets for pages: a store's files may have a limit (ulimit -f), which does not go away while it is waited for.
  uint64_t most_bytes() const { return most_bytes_; }
  /// Without files: nothing can be read or written. `io`: as above.
  void start_without(uint64_t io);
  /// On the thread that will use it. 0 or -errno.
  int open();
  /// Pages can come from that export, too, and go there; it must outlive this. Its number for Origin::map; 0: there are too many.
  uint8_t attach(NbdStore &);
  /// Other processes hold memory for it.
  bool has_helpers() const { return remote_ != 0; }
  bool is_open() const { return open_; }
  /// next() tells whenever the descriptor is readable.
  void watch(int fd, uint64_t tag) { disk_.watch(fd, tag); }

  // --- what is under way ---
  uint32_t io_pages() const { return io_pages_; } ///< of the largest write
  uint32_t read_pages() const { return read_pages_; } ///< of the largest read
  uint64_t latency_ns() const { return latency_ns_; } ///< of reads
  uint32_t reading() const { return reading_; } ///< read requests
  uint32_t pages_writing() const { return pages_writing_; }
  uint32_t pages_cleaning() const { return pages_cleaning_; }
  /// Pages being written that will be free then, or are the next to be.
  uint32_t pages_coming_free() const { return pages_writing_ - pages_cleaning_; }
  bool busy() const { return requests_.any() || making_room(); }
  bool any_request() const { return requests_.any(); }
  /// Room on the disk is being made, which writes may wait for.
  bool making_room() const {
    return any([](const UsedStore &p) { return p.preallocation.busy(); });
  }
  /// For pages that are made, too.
  Staging &staging() { return staging_; }
  uint64_t staging_bytes() const { return staging_.bytes(); }
  /// Where it is whole: it is again as soon as so much is wanted.
  uint64_t whole_staging_bytes() const { return staging_.whole_bytes(); }
  /// Pages that staging is to take now (core/memory/staging_size.h); 0: it may not change yet. Once in each turn of the loop.
  uint32_t staging_wanted(uint64_t now);
  void resize_staging(uint32_t pages);
  /// The bytes of a budget that are staged at once: enough for the disk's queue, and a small part of the budget.
  static uint64_t staging_bytes_for(uint64_t budget);
  uint32_t staging_in_use() const { return staging_.in_use(); }
  const Requests &requests() const { return requests_; }
  const char *directory() const { return used_store_[0].store->name(); }

  // --- reads ---
  /// Whether there is room for one more; hints leave the last ones to faults.
  bool takes_read(bool demand) const;
  /// How many of the pages one request can read.
  uint32_t longest_read(uint32_t slot, uint32_t pages, const Origin & = {}) const;
  /// Starts to read; `pages` is at most what longest_read() says. Returns how many of the first ones; 0: not now.
  uint32_t read(uint32_t slot, uint32_t pages, uint16_t site, uint8_t nest, const Origin & = {});
  /// The page number `i` of a read that is done.
  const char *contents(const Request &q, uint32_t i) const { return staging_.address(q.staging + i); }
  /// The pages have been taken out of staging, or cannot be read. free_request() must follow.
  void read_done(Request &);
  /// Reads that are done and wait for memory, the oldest first.
  void postpone(Request &q) { requests_.postpone(q); }
  Request *postponed() { return requests_.postponed(); }
  void drop_postponed() { requests_.drop_postponed(); }
  /// Notes how long a read took that has come now.
  void measured(uint64_t ns) { latency_ns_ = latency_ns_ ? (latency_ns_ * 7 + ns) / 8 : ns; }
  /// A read failed; `lost`: pages that the program will not get back.
  void read_failed(const Request &q, int result, unsigned lost, uint64_t now);
  /// Reads a page at once, while no request is under way. NULL: it cannot be read. Cost: as long as the disk takes.
  const char *read_now(uint32_t slot, const Origin & = {});

  // --- writes ---
  /// Dirty pages cannot go for some time: the disk refuses them, or it does not answer.
  bool writes_are_stuck() const;
  /// The same of pages with that origin.
  bool writes_are_stuck(const Origin &o) const { return o.is_map() ? map_store(o).stuck() : writes_are_stuck(); }
  /// Whether a write to an export that is mapped may be asked for now.
  bool map_takes_writes(const Origin &o) const {
    return !map_store(o).errors.writes_refused() || map_store(o).errors.may_write(os::now_ns());
  }
  /// Requests of an export that is mapped which failed.
  uint64_t map_failures(const Origin &o) const { return statistics_.store[number_of(o)].failed; }
  bool writes_are_refused() const {
    return !any([](const UsedStore &p) { return !p.errors.writes_refused(); });
  }
  bool stalled() const {
    return !any([](const UsedStore &p) { return !p.errors.stalled(); });
  }
  /// Whether so many writes may be asked for beside what is under way. Some can always be, in their turn.
  bool may_request(unsigned writes) const;
  /// The file that pages can be written to now, with room for them; `high_water`: slots of the file that may be needed at
  /// all. -1: not now.
  int file_for(uint32_t slot, uint32_t pages, uint32_t high_water);
  /// The contents of the pages are in that file from now on: write() follows for all of them.
  void move_to(unsigned file, uint32_t slot, uint32_t pages);
  /// Starts to write pages from `address`, which stay as they are until written. may_request() has said yes. `idle`: while the
  /// program rests.
  const Request &write(uint32_t slot, uint32_t pages, uint64_t address, bool idle, const Origin & = {});
  /// The same from the shelf (memory/shelf.h), of pages that do not become free by it.
  void write_shelved(uint32_t slot, uint32_t pages, uint64_t address, uint32_t copy);
  /// The same from a copy: the kernel does not read memory for us that the program has made unreadable, and of a page that another
  /// process of a fork has as well, it makes a copy first. Returns how many of the first ones; 0: not now; -errno: they cannot be
  /// read. `again`: they could not be written from where they are.
  int write_copy(uint32_t slot, uint32_t pages, uint64_t address, bool idle, bool again, const Origin & = {});
  /// Writes a page of an export that is mapped at once, while no request is under way. 0 or -errno.
  int write_now(uint32_t slot, uint64_t address, const Origin &);
  /// Has the export, by its number, keep what was written through a loss of power. synced(): 1 until it does, then 0 or -errno.
  void sync(uint8_t map) { map_[map - 1]->sync(); }
  int synced(uint8_t map) const { return map_[map - 1]->synced(); }
  /// Asks the export to have the bytes at hand soon; binds no one. False: no more now.
  bool ask_ahead(const Origin &o, uint64_t offset, uint64_t bytes) { return map_[o.map - 1]->ask_ahead(offset, bytes); }
  const NbdStore &map_of(const Origin &o) const { return *map_[o.map - 1]; }
  /// Bytes of the blocks in which the export is best asked.
  uint64_t block_of(const Origin &o) const { return map_[o.map - 1]->block(); }
  /// A write is over. free_request() must follow.
  void write_done(const Request &);
  /// What the disk said of it.
  void wrote(const Request &q, bool good, int result);
  void free_request(Request &q) { requests_.give(q); }

  // --- what the disk has done ---
  struct Done {
    enum Kind : uint8_t { kWatched, kRoom, kRequest } kind;
    uint64_t tag; ///< of what was watched
    Request *request; ///< that is over
    int result; ///< bytes or -errno
  };
  /// The next thing that it has done. False: nothing more for now.
  bool next(Done *);
  /// Hands to the kernel what was asked for, at once; submit() must come before the thread sleeps.
  void hand_over() { disk_.hand_over(); }
  /// The same, once in each turn of the loop.
  void submit() { disk_.submit(); }
  /// Whether next() would have something, or a fault is there: what watch() watches. Only looks at memory.
  bool has_news() const { return disk_.has_completions(); }
  /// Sleeps until the disk has done something, or `timeout_ns` have passed (0: no limit).
  void wait(uint64_t timeout_ns) { disk_.wait(timeout_ns); }
  /// How long who waits for the disk may sleep before watch_for_stalls() must be called, ns; 0: nothing is to be watched.
  uint64_t watch_within_ns() const;
  /// Tells the user of a disk that does not answer, once a second. Cost: under 1 us.
  void watch_for_stalls(uint64_t now);

  // --- fork, with no request under way ---
  /// Fewer files, where many have come together. Cost: reads and writes what moves.
  void merge_files(const PageTable &, PagedRegions &);
  /// Others of a fork may have pages of this process.
  bool has_others() const { return fork_files_.has_others(); }
  /// The last child has yet to take what it takes at once. In the child: it has.
  bool child_starts() const { return fork_files_.child_starts(); }
  void child_started() const { fork_files_.started(); }
  /// Looks whether that is still so, when some time has passed. Cost: nothing where there are none, else 1 us for each.
  void look_for_others() {
    constexpr uint64_t kEvery = 2'000'000;
    if (!has_others()) return;
    const uint64_t now = os::now_ns();
    if (now - others_seen_ns_ < kEvery) return;
    others_seen_ns_ = now;
    fork_files_.look_for_ends();
  }
  /// The thread that forks: what both sides will know each other by. 0 or -errno.
  int before_fork() { return fork_files_.before_fork(); }
  void after_fork() { fork_files_.after_fork(false); }
  /// In the child: the files are shared with the parent, and open() may follow.
  void recover();

  /// What does not hold, or NULL: of the requests, the staging memory under them, and the pages that they move.
  const char *broken_invariant(const PageTable &) const;

private:
  static constexpr unsigned kMostNbd = 4, kMostMaps = Statistics::kStores - Stripes::kMost;
  bool next_answer(Store::Completion *);
  /// What belongs to one store.
  struct UsedStore {
    Store *store = nullptr;
    DiskErrors errors;
    Preallocation preallocation;
    bool stuck() const;
  };
  template <typename Test> bool any(Test test) const {
    for (unsigned i = 0; i < stores_; ++i)
      if (test(used_store_[i])) return true;
    return false;
  }
  /// What a request for a page is for.
  struct Target {
    Store *store;
    unsigned number, file;
    uint64_t offset;
  };
  unsigned number_of(const Origin &o) const { return stores_ + o.map - 1u; }
  const UsedStore &map_store(const Origin &o) const { return used_store_[number_of(o)]; }
  unsigned all_stores() const { return stores_ + maps_; }
  Target target(unsigned file, uint32_t slot, const Origin &);
  int start_staging(uint64_t budget, uint64_t io, bool shared, char *why, unsigned capacity);
  int start_stores(Store *const *stores, unsigned count, uint64_t overflow, char *why, unsigned capacity);
  void start_errors();
  unsigned choose(uint32_t slot, uint32_t pages);
  void begin(Request &, const Target &, uint64_t bytes);
  bool merge_files(const PageTable &, PagedRegions &, unsigned store);
  bool move_contents(const PageTable &, const PagedRegion &, uint32_t from, unsigned to);

  Statistics &statistics_;
  bool open_ = false;
  uint64_t most_bytes_ = 0;
  unsigned shift_ = 12;
  uint32_t io_pages_ = 128, read_pages_ = 128;
  Staging staging_;
  core::StagingSize staging_size_;
  uint64_t staging_waits_ns_ = 0; ///< since then, for all that is handed out to come back, so that it can change; 0: it need not
  Disk disk_;
  StoreList list_;
  Later<LocalStore, Stripes::kMost> local_;
  Later<NbdStore, kMostNbd> nbd_;
  uint32_t remote_ = 0; ///< bit per store with answers of its own
  unsigned patience_s_ = 60;
  bool lacks_staging_ = false;
  ForkFiles fork_files_;
  uint64_t others_seen_ns_ = 0; ///< when look_for_others() last looked
  UsedStore used_store_[Statistics::kStores]; ///< those of the backing store, then exports that are mapped
  unsigned stores_ = 1, maps_ = 0;
  NbdStore *map_[kMostMaps] = {};
  Stripes stripes_; ///< of several
  Requests requests_;
  unsigned file_ = 0; ///< that move_to() named last
  uint64_t watched_ns_ = 0; ///< when the disks were last watched for stalls
  uint32_t reading_ = 0;
  uint32_t pages_writing_ = 0;
  uint32_t pages_cleaning_ = 0; ///< of these, while the program rests
  uint64_t latency_ns_ = 0;
};

} // namespace pagecast
