// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager: keeps regions of anonymous memory within the budget, with userfaultfd and io_uring.
//
//   fetch    direct read into staging, then a copy into place (UFFDIO_COPY) that is write-protected, or
//            writable where a hint says that the page will be stored to
//   store    to a protected page: a fault; the page becomes dirty. So the pager knows every dirty page.
//   evict    clean pages are discarded, many in one call; dirty ones are protected, written from where
//            they are, and discarded when the write is done and nobody stored in between
//   release  changes the order of eviction (core/memory/replacement.h)
//
// Measured on Linux 6.18, us per 4 KiB page in 1 MiB batches, against a memfd in its place (DESIGN.md
// section 5): copy-in 1.0 and discard 0.26, against 2.3 for a page of a memfd filled by direct I/O, 0.25 to
// map, 0.15 to unmap, 0.6 to punch. Private memory also keeps what a program expects of it: a region is the
// mapping that the program would have had anyway.
//
// One thread (pager thread) owns all state below; others reach it through add/remove/clear (synchronous
// commands), hint rings and nest slots. It must never touch a page of a region: it would wait for itself.
//
// What can stand alone has a header of its own (see the parts at the end of the class); what works on all of them is
// the class, in a file for each concept.
#pragma once
#include "core/memory/cleaning.h"
#include "core/memory/forecast.h"
#include "core/nest/overwrite.h"
#include "core/memory/replacement.h"
#include "core/residency.h"
#include "core/faults/fault_streams.h"
#include "core/types.h"
#include "runtime/files/advise.h"
#include "runtime/pager/allowance.h"
#include "runtime/pager/commands.h"
#include "runtime/kernel/disk.h"
#include "runtime/store/preallocation.h"
#include "runtime/pager/writeback_clusters.h"
#include "runtime/state/handlers.h"
#include "runtime/pager/marks.h"
#include "runtime/state/hint_ring.h"
#include "runtime/store/fork_files.h"
#include "runtime/pager/margins.h"
#include "runtime/state/options.h"
#include "runtime/kernel/os.h"
#include "runtime/state/pages.h"
#include "runtime/state/regions.h"
#include "runtime/pager/requests.h"
#include "runtime/store/staging.h"
#include "runtime/state/statistics.h"
#include "runtime/store/disk_errors.h"
#include "runtime/pager/waits.h"

#include <atomic>

namespace pagecast {

struct OpenNest;

class Pager {
public:
  /// Makes the tables and opens the backing store; starts no thread. 0 or -errno, with a sentence in `why`.
  /// `budget`: bytes to begin with, and not to exceed unless set_cap() allows more.
  int prepare(const Options &, uint64_t budget, uint64_t data_bytes, char *why, unsigned room);
  /// As prepare(), for hosts where anonymous memory cannot be paged: hints for files(), and no backing store.
  int prepare_files(const Options &, uint64_t budget, char *why, unsigned room);
  /// The pager thread's body; never returns. `started` is posted through the futex word `result_`.
  void run();
  /// Waits until run() is ready or has failed. 0 or -errno.
  int wait_started();

  // --- any thread; each waits for the pager (10-50 us, longer while I/O on the range is under way) ---
  /// Makes anonymous private [address, address+bytes) a region. 0 or -errno (then it stays as it was).
  int add(uint64_t address, uint64_t bytes);
  /// Ends the paging of the range, before it is unmapped: its contents are gone.
  int remove(uint64_t address, uint64_t bytes);
  /// Makes the range zero (MADV_DONTNEED by the program).
  int clear(uint64_t address, uint64_t bytes);
  /// Returns once nests have stored all pages that were left unread for them; for who has seen to it that may_overwrite()
  /// says no. That takes as long as those nests fetch ahead.
  void finish_overwriting();
  /// Whether all invariants of the state below hold; `why` gets the one that does not. For tests without slices (they
  /// mark pages before they ask for them). Cost: some 50 ns a page of every region.
  bool is_valid(const char **why);

  // --- fork (fork.cpp), all on the thread that forks, with no command under way ---
  /// Before: waits until no I/O is under way and has the pager's thread hold still. `stack`: an address in the
  /// caller's frame. True if the child gets the regions, which only `share` allows.
  bool stop_for_fork(uint64_t stack, bool share);
  /// In the parent. `shared`: what stop_for_fork() said.
  void go_on(bool shared);
  /// In the child that got the regions: takes them over; then run() on a new thread. 0 or -errno.
  int recover();
  /// The regions cannot be served here: a fault is better than zeros. Unmaps them.
  void abandon();

  // --- any thread; never waits ---
  /// False when the queue is full.
  bool hint(const Hint &);
  bool slice_hint(const Hint &);
  /// Wakes the pager's thread if it sleeps.
  void poke();
  core::ResidencyMap &map() { return map_; }
  /// The largest request, bytes.
  uint64_t max_io() const { return static_cast<uint64_t>(io_pages_) << shift_; }
  /// Of the page of `r`, a copy from look_up(), which is no file's. Any thread; it may change right after.
  PageState state_of(const Region &r, uint64_t page) const {
    return __atomic_load_n(&pages_[slot_of(r, page)].state, __ATOMIC_RELAXED);
  }
  /// Whether it is in memory. A file's page always is: who reads it waits for the kernel at worst.
  bool ready(const Region &r, uint64_t page) const { return r.is_file() || state_of(r, page) >= PageState::kClean; }
  Region look_up(uint64_t address) {
    const Region r = regions_.look_up(address);
    return r.bytes ? r : files_.look_up(address);
  }
  /// Mappings of files.
  Advise &files() { return files_; }
  /// False after prepare_files(): memory can only live in a file of its own then (files().start_memory()).
  bool pages_memory() const { return !files_only_; }
  core::Conditions conditions() const;
  /// Bytes that the program may hold in regions, the runtime's own memory included. It moves: see core/memory/limit.h.
  uint64_t budget() const { return allowance_.budget(); }
  /// Pages given up so far that nobody had released. Any thread.
  uint64_t crowded() const { return crowded_.load(std::memory_order_relaxed); }
  /// The user's cap from now on, bytes; ~0: none but the machine's and the control group's.
  void set_cap(uint64_t bytes);
  /// So much of what will be added is in memory already: the program holds it, before prepare() and until it is added. 0: all is.
  void expect(uint64_t bytes) { to_come_.store(bytes, std::memory_order_relaxed); }
  /// Whether pages that will be overwritten may go unread: see handlers.h.
  bool may_overwrite() const { return options_->overwrite > 1 || (options_->overwrite && handlers_none()); }

  Statistics statistics;

private:
  class NestSink;
  friend class NestSink;

  // pager.cpp
  bool start_tables(const Options &, uint64_t budget, char *why, unsigned room);
  int open_on_thread();
  bool take_commands();
  bool try_command(Command &);
  bool anything_posted();
  void sleep();
  void watch_disk(uint64_t now);
  int command(Command::Kind, uint64_t address, uint64_t bytes);
  int do_add(uint64_t address, uint64_t bytes);
  int adopt_populated(Region &);
  bool quiet(uint64_t begin, uint64_t end);
  void forget(uint64_t begin, uint64_t end, bool keep_region);
  void use_tables(uint32_t slot, uint32_t pages);

  // nests.cpp
  bool close_nests();
  void start_nests();
  bool run_nests();
  bool all_stored();
  bool worth_walking(const OpenNest &) const;
  void keep_for(OpenNest &);
  void pin_targets(const OpenNest &, int change);
  void keep_part(core::Extent, uint64_t part, uint64_t parts);
  void keep_range(uint64_t begin, uint64_t end);

  // limit.cpp
  void account();
  std::atomic<uint64_t> to_come_{0}; ///< bytes
  uint32_t staged() const;
  uint64_t used_bytes() const;
  uint64_t kept_free() const;
  void follow_limit(uint64_t now);
  void mind_limits(uint64_t now);
  bool in_motion() const;
  void raise_ceiling();
  bool give_back(uint64_t now);
  uint64_t until_next_look() const;

  // fork.cpp
  void say_fork_waits();
  void prepare_fork(uint64_t stack);
  void hold_still();
  void keep_stack(uint64_t stack);
  void merge_files();
  bool move_contents(const Region &, uint32_t from, unsigned to);
  int watch_inherited(Region &);

  // valid.cpp
  const char *broken_invariant();
  const char *broken_region(unsigned index, uint32_t *in_memory, uint32_t *writing);
  const char *broken_page(uint32_t slot, unsigned kernel);
  const char *broken_request();

  // arrive.cpp
  void arrive(Request &);
  bool arrive_late();
  void install(Request &);
  void read_failed(Request &, int result);
  void free_request(Request &);

  // fetch.cpp
  struct Asked {
    uint16_t site;
    uint8_t nest;
    uint32_t due;
    bool write;
    bool demand;
    core::Overwrite::Unread unread{}; ///< absent pages there need not be read
  };
  bool fetch(uint64_t &begin, uint64_t end, const Asked &);
  uint32_t fetch_run(Region &, uint32_t slot, uint32_t pages, const Asked &);
  bool goes_unread(const Asked &, uint32_t slot, uint32_t *pages) const;
  uint32_t zero_fill(Region &, uint32_t slot, uint32_t pages, const Asked &);
  uint32_t fill(Region &, uint32_t slot, uint32_t pages, const char *from, const Asked &);
  uint32_t read_in(Region &, uint32_t slot, uint32_t pages, const Asked &);
  void want_again(Region &, uint32_t slot, uint32_t pages, const Asked &);
  uint32_t place(uint32_t slot, const char *from, uint32_t pages, bool writable);
  void make_writable(Region &, uint32_t slot, uint32_t pages);
  uint32_t admit(uint32_t pages, bool demand);

  // save_margins.cpp
  void expect_margins(const OpenNest &);
  void save_margins(uint32_t slot, uint32_t pages);
  bool has_margins(const Asked &, uint32_t slot, uint32_t *pages) const;
  uint32_t fill_rows(Region &, uint32_t slot, uint32_t pages, const Asked &);

  // hints.cpp
  bool take_completions();
  bool take_hints();
  bool take_by_hand(const Hint &);
  bool take_of_slice(const Hint &);
  bool advise(const Hint &, core::Extent, bool from_slice);
  bool fetch_range(const Hint &, core::Extent, const Asked &);
  bool fetch_page(uint64_t address, const Asked &);

  // zeros.cpp
  uint32_t zero_cluster(Region &, uint32_t slot);
  Run zero_run(const Region &, uint32_t slot) const;
  /// Pages right before `slot`, up to `most`, of whose state `is` holds.
  template <class Is> uint32_t pages_before(const Region &r, uint32_t slot, uint32_t most, Is is) const {
    uint32_t n = 0;
    while (n < most && n < slot - r.first_slot && is(pages_[slot - 1 - n].state)) ++n;
    return n;
  }
  /// The same of pages from `slot` on.
  template <class Is> uint32_t pages_from(const Region &r, uint32_t slot, uint32_t most, Is is) const {
    const uint32_t end = r.first_slot + static_cast<uint32_t>(r.bytes >> shift_);
    uint32_t n = 0;
    while (n < most && slot + n < end && is(pages_[slot + n].state)) ++n;
    return n;
  }
  uint32_t used_before(const Region &, uint32_t slot, uint32_t most) const;
  uint32_t zeros_from(const Region &, uint32_t slot, uint32_t most) const;
  uint32_t zeros_begin(uint32_t slot, uint32_t lowest) const;
  void look_ahead(Region &);
  void release_behind(Region &, uint32_t slot, uint32_t ahead);

  // refill.cpp
  uint32_t resident_before(const Region &, uint32_t slot, uint32_t most) const;
  uint32_t absent_from(const Region &, uint32_t slot, uint32_t most) const;
  uint32_t refill_ahead(const Region &) const;
  uint32_t refill(Region &, uint32_t slot, bool write);
  Run refill_run(Region &, uint32_t slot);

  // forecast.cpp
  void foresee(OpenNest &);
  Wanted wanted(const OpenNest &, unsigned group, core::Extent, unsigned priority) const;
  void release_along(OpenNest &);
  void release_rest(const OpenNest &);
  void release_parts(const OpenNest &, unsigned group, core::Extent);

  // gather.cpp
  void gather(uint32_t first, uint32_t last, Wanted);
  Run cluster_of(const Region &, uint32_t slot) const;
  bool all_done(Run) const;
  void release_done(Run, Wanted);
  void release_clusters();
  bool release_oldest_cluster();

  // evict.cpp
  void release(uint64_t begin, uint64_t end, Wanted, uint16_t site);
  void put_off(uint32_t slot, Wanted, bool dirty);
  uint32_t evict(uint32_t pages);
  uint32_t run_length(const uint32_t *slots, uint32_t count);
  void discard_run(uint32_t slot, uint32_t pages);
  void flush_discards();
  void settle(uint32_t slot);
  /// Why pages are written: they are to go then; they are the next to go; the program rests.
  enum class Write : uint8_t { kGoing, kNext, kIdle };
  bool write_out(Region &, uint32_t slot, uint32_t pages, Write);
  bool write_ahead(uint32_t *slots, uint32_t count, Write);
  void put_back(uint32_t slot, uint32_t pages);
  void pass_over(uint32_t slot, uint32_t pages);
  bool have_room(unsigned file, uint32_t slot, uint32_t pages);
  bool writes_are_stuck() const;
  uint32_t most_writing() const;
  bool may_request(unsigned writes) const;
  int write_copies(Region &, uint32_t slot, uint32_t pages);
  void written(Request &, int result);
  void keep_reserve(bool busy);
  void keep_aging();
  void clean_ahead();

  // clean.cpp
  bool may_clean() const;
  void clean_while_idle(uint64_t now, bool busy);
  uint32_t next_to_clean(uint32_t *slots, uint32_t want, uint64_t now, bool *more);

  // fault.cpp
  bool take_faults();
  bool retry_waiting();
  bool serve(uint64_t address, bool write, bool again);
  void stored_to_protected(Region &, uint32_t slot);
  void end_wait(uint32_t slot, uint32_t pages);

  // history.cpp
  void follow(uint64_t address, bool write);
  void settle_behind(core::Stream &);
  void give_up(const core::Stream &);
  bool run_streams();
  bool push_on(unsigned stream);
  uint32_t push_run(Region &, core::Stream &, uint32_t slot, uint32_t pages);
  bool stored_in_stream(Region &, uint32_t slot);
  bool keep_mark(uint32_t slot, const char *from);
  void show_mark(uint32_t slot, bool write);
  void drop_mark(uint32_t slot);
  uint32_t slot_at(int64_t place);

  Region *region_of(uint32_t slot) { return regions_.find(pages_.address(slot)); }
  uint32_t slot_of(const Region &r, uint64_t address) const {
    return r.first_slot + static_cast<uint32_t>((address - r.base) >> shift_);
  }
  core::Extent extent(uint32_t slot, uint64_t pages) const {
    const uint64_t a = pages_.address(slot);
    return {a, a + (pages << shift_)};
  }
  bool resident(PageState s) const { return s >= PageState::kClean; }
  uint32_t free_pages() const { return allowance_.free(used_); }
  /// Pages being written that will be free then, or are the next to be.
  uint32_t pages_coming_free() const { return pages_writing_ - pages_cleaning_; }

  const Options *options_ = nullptr;
  unsigned shift_ = 12;
  uint64_t page_ = 4096;
  uint32_t io_pages_ = 128; ///< largest request

  // What is where, and how much of it may be in memory.
  Allowance allowance_;
  uint32_t used_ = 0; ///< pages resident or reading
  core::ResidencyMap map_;
  PageTable pages_;
  RegionTable regions_;
  Advise files_;
  bool files_only_ = false;
  uint64_t files_seen_ = 0; ///< bytes of files' regions, when last accounted

  // What goes next.
  core::Replacement order_;
  core::Forecast forecast_;
  uint64_t due_unit_ = 1; ///< bytes: steps in which dues are told apart
  WritebackClusters writeback_clusters_;
  core::Cleaning cleaning_;
  uint32_t walked_clean_ = 0; ///< pages that are not released, but clean and the next to go, as far as the walk has come
  static constexpr unsigned kDiscards = 256;
  Run discard_[kDiscards]; ///< clean pages that go with the next flush_discards()
  unsigned discards_ = 0;
  std::atomic<uint64_t> crowded_{0}; ///< pages evicted that nobody had released; changed by the pager alone
  Margins margins_; ///< of pages that are absent

  // The backing store, and what is on its way there and back.
  Staging staging_;
  ForkFiles fork_files_;
  Disk disk_;
  DiskErrors disk_errors_;
  Preallocation preallocation_;
  uint64_t watched_ns_ = 0; ///< when the disk was last watched for stalls
  Requests requests_;
  uint32_t pages_writing_ = 0;
  uint32_t pages_cleaning_ = 0; ///< of these, while the program rests
  uint32_t reading_ = 0; ///< read requests under way
  uint64_t latency_ns_ = 0;

  // Faults, and what they foretell.
  int faults_ = -1;
  WaitingFaults waiting_;
  Stalls stalls_;
  static constexpr uint32_t kZeroPages = 64;
  char *zeros_ = nullptr; ///< kZeroPages pages, small enough to stay in a cache
  core::FaultStreams fault_streams_{os::page_shift()};
  Marks marks_;

  // What other threads ask for.
  int event_ = -1;
  Commands commands_;
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<uint32_t> started_{0};
  std::atomic<uint32_t> forking_{0}; ///< a fork is going on
  std::atomic<bool> forks_behind_nests_{false}; ///< what a fork waits for: other threads' nests, else the disk
  bool fork_wait_said_ = false; ///< of the thread that forks, under fork's locks
  bool inherited_ = false;
  bool finishing_ = false; ///< nothing is left unread for nests, so that somebody may look
  int start_error_ = 0;
  uint64_t freed_ = 1; ///< grows whenever memory, staging or a request became free
  uint64_t hints_blocked_ = 0; ///< what freed_ was when the oldest hint of a slice found none
  HintRing<1024> hand_ring_;
  HintRing<8192> slice_ring_;
};

} // namespace pagecast
