// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime counts. Pages, unless a name says otherwise. The pager's thread writes all but the
// atomic ones; docs/statistics.md says what each means.
#pragma once
#include "pagecast/abi.h"
#include <atomic>
#include <cstdint>

namespace pagecast {

/// What is counted of one group of one nest. Index 0 collects hints without a site.
struct SiteStatistics {
  const pagecast_nest *nest;
  uint32_t group;
  uint64_t entries;       ///< times its nest was opened
  uint64_t prefetched;    ///< read by a hint
  uint64_t zero_filled;   ///< made zero by a hint
  uint64_t overwritten;   ///< not read, as the nest is certain to store over them
  uint64_t late;          ///< read by a hint, the program came first
  uint64_t unused;        ///< read by a hint, evicted before its turn
  uint64_t released;      ///< given up by a hint
  uint64_t rescued;       ///< released, wanted again while resident
  // Of the stage of the slice that touches it; written by the slicer's thread (core/slices/backoff.h).
  uint64_t backed_off;    ///< steps passed over
  uint64_t probes;        ///< steps run as a sample
};

/// What the slice of one nest costs and brings (core/slices/slice_investment.h). The slicer's thread writes what is not atomic.
struct SliceStatistics {
  const pagecast_nest *nest = nullptr;
  std::atomic<uint64_t> cpu_ns{0};    ///< of the slicer's thread
  std::atomic<uint64_t> waited_ns{0}; ///< that threads of the program waited for that
  std::atomic<uint64_t> pager_ns{0};  ///< processor time of the pager's thread, for hints
  int64_t saved_ns = 0;               ///< that the program was faster by
  uint64_t trials = 0, switched_off = 0;
  std::atomic<bool> is_off{false};
};

/// What went wrong with the backing store (disk_errors.h).
struct DiskErrorCounts {
  uint64_t no_room = 0;       ///< times that space for data could not be had
  uint64_t full_ns = 0;       ///< from the first refusal to the first success
  uint64_t write_errors = 0, read_errors = 0; ///< requests
  uint64_t lost_pages = 0;    ///< could not be read when the program needed them
  uint64_t stalls = 0;        ///< times that a request took longer than DiskErrors::kStall
  uint64_t longest_io_ns = 0; ///< of these
};

/// What a memory limit holds, bytes.
struct MemoryMakeUp {
  uint64_t limit = 0;   ///< the lowest of the pools' sizes and the cap
  uint64_t program = 0; ///< pages of large data
  // The runtime's, of the budget.
  uint64_t tables = 0, staging = 0, margins = 0, shelf = 0, fixed = 0;
  uint64_t free = 0; ///< in the fullest pool, at the last look
};

/// What a thread of the program waited for.
enum class StallKind : uint8_t {
  kLate,          ///< a read on its way that a hint or a stream had asked for
  kNotPrefetched, ///< a read that its own fault began
  kZeroFill,      ///< a zero page, made by its fault
  kProtect,       ///< leave to store to a page that was fetched, or the sight of a page that was kept as a mark
  kRoom,          ///< memory, or a place in the queue: others had to go first
};
inline constexpr unsigned kStallKinds = 5;

/// Nanoseconds by StallKind, summed over threads.
struct StallTimes {
  uint64_t ns[kStallKinds] = {};
  uint64_t &operator[](StallKind kind) { return ns[static_cast<unsigned>(kind)]; }
  uint64_t operator[](StallKind kind) const { return ns[static_cast<unsigned>(kind)]; }
  uint64_t sum() const;
};

struct Statistics {
  // What became of pages that the program came to.
  std::atomic<uint64_t> not_prefetched{0}; ///< read by a fault
  uint64_t read_around = 0; ///< with one of these, since what is around pages of that region is wanted, too
  uint64_t zero_fill_fault = 0;  ///< made zero by a fault (with its neighbours: pages, not faults)
  std::atomic<uint64_t> fault_events{0}; ///< faults that reached the pager
  uint64_t protect_faults = 0;   ///< first stores to protected pages, in pages unprotected
  uint64_t stores_expected = 0;  ///< pages read for loads that were mapped writable, as stores followed lately
  StallTimes stall_ns;           ///< from the pager's seeing a fault to its end
  bool stalls_are_measured = true; ///< not where the kernel serves the faults
  struct Streams {
    uint64_t used = 0, wasted = 0; ///< pages that the program came to, and that went before
    uint64_t switched_off = 0;     ///< times that fetching ended because of these
    uint64_t forgone = 0;          ///< pages that would have been asked for meanwhile
  };
  Streams streams; ///< of faults
  // Movement.
  uint64_t read_bytes = 0, reads = 0, written_bytes = 0, writes = 0;
  uint64_t releases_regretted = 0; ///< of one released page in core::ReleaseTrial::kSample: it was waited for soon after
  uint64_t releases_forgone = 0; ///< pages that were kept, since releases of their group did not pay
  uint64_t evicted_clean = 0, evicted_dirty = 0;
  struct Unreleased {
    uint64_t oldest = 0, newest = 0; ///< pages that went though nobody had released them (core/memory/which_end.h)
    uint64_t changes = 0;            ///< of what is thought to be better
    uint64_t kept = 0;               ///< pages that stay apart (core/memory/kept_share.h)
  };
  Unreleased unreleased;
  struct SecondChance {
    uint64_t waited = 0, waited_again = 0; ///< pages on the shelf (memory/shelf.h), and those of them that had come back before
    uint64_t came_back = 0, came_back_again = 0; ///< of these, the pages that were used meanwhile
    uint64_t kept_bytes = 0; ///< that these pages took, compressed or not
    uint64_t written = 0, switched_off = 0; ///< pages from there; times that it did not pay
  };
  SecondChance second_chance;
  uint64_t evicted_ahead = 0; ///< given up while the disk read what the program waited for
  uint64_t cleaned = 0; ///< written while the program rested
  // Hints.
  std::atomic<uint64_t> nests_opened{0}, nests_filtered{0}, nests_declined{0}, nests_passed_over{0}, hints_by_hand{0},
      hints_dropped{0};
  uint64_t slice_hints = 0;
  uint64_t useless_hints = 0; ///< from slices and by hand: resident or on their way by the time they were looked at
  uint64_t refused_fetches = 0; ///< no memory or queue then; asked again later
  /// Asking the caches of servers ahead (engine/far_hints.h): blocks, and entries of nests for which a helper asked.
  struct Far {
    uint64_t asked = 0, served = 0;
    uint64_t stops = 0, unasked = 0; ///< of the process's own hints where they did not pay, and intervals of nests without any
    std::atomic<uint64_t> meetings{0}, met_ns{0}; ///< waits for others of a team, and how long (engine/meeting.h)
  };
  Far far;
  // Budget.
  uint64_t budget_bytes = 0, own_bytes = 0, peak_bytes = 0, regions = 0, region_bytes = 0, most_region_bytes = 0;
  MemoryMakeUp now; ///< as far as it is known now
  MemoryMakeUp sum; ///< over `sums` samples that were taken after the first eviction
  uint64_t sums = 0;
  // The limit (core/memory/limit.h): looks at it, changes of its direction, and what was given back because it fell.
  uint64_t looks = 0, lowered = 0, raised = 0, given_back_bytes = 0;
  struct Favoured {
    uint64_t turns, paid;
  } favoured{}; ///< threads whose pages were kept for a while, and those that got further by it
  uint64_t reads_postponed = 0; ///< done when more memory was in use than might be: until there is room
  uint64_t least_budget_bytes = ~uint64_t{0}, most_budget_bytes = 0;
  uint64_t slowest_give_back_ns = 0; ///< from a fall until no more is used than may be
  uint64_t pager_cpu_ns = 0;
  struct {
    uint64_t looks = 0, found = 0, ns = 0;
  } polling; ///< looks for faults and reads before a sleep (core/faults/polling.h), those that found some, and what all took
  struct Attendance {
    uint64_t begun = 0, followed = 0; ///< times that the pager's thread went to the one that faults, and with it elsewhere
    uint64_t ns = 0; ///< that it stayed on that one's processor
    uint64_t disturbed = 0; ///< times that it was kept from its work there (core/faults/attendance.h)
  } attendance;
  DiskErrorCounts disk_errors;
  /// A place where pages are (store.h).
  struct Store {
    const char *name;
    uint64_t read_bytes, reads, written_bytes, writes;
    uint64_t failed; ///< reads and writes
  };
  static constexpr unsigned kStores = 16;
  Store store[kStores] = {};
  unsigned stores = 0;

  /// The advise back end's. Hints are counted by the pager's thread, calls by the adviser's.
  struct Files {
    std::atomic<uint64_t> regions{0}, region_bytes{0}, left_alone{0}; ///< ever; mappings that advice cannot move
    std::atomic<uint64_t> resident_at_start{0};
    std::atomic<uint64_t> memory_bytes{0}, memory_left{0}; ///< of memory in a file, now; blocks that could not move there
    uint64_t hinted = 0, released = 0, refused = 0;
    uint64_t calls = 0;               ///< of the kernel, for hints of both kinds
    uint64_t waits = 0;               ///< for pages under way, 0.2 ms each
    std::atomic<uint64_t> given_up{0}; ///< pages of MADV_PAGEOUT
    std::atomic<uint64_t> passed{0};   ///< pages that were taken out of the page table behind the program
    std::atomic<uint64_t> read_behind{0}; ///< bytes of page cache that were given up behind the program's own reads
    uint64_t streamed = 0;            ///< requests that were left to the kernel's read-ahead
    std::atomic<uint64_t> large_reads{0}; ///< blocks that were read in large folios
    uint64_t renewed = 0;             ///< hints for pages that were in memory
    uint64_t patterns = 0;            ///< changes between MADV_RANDOM and MADV_NORMAL
    uint64_t strided = 0;             ///< pages asked for ahead of faults at an even distance
    uint64_t found = 0, reclaimed = 0;///< bits that were corrected by looking
    uint64_t kept = 0;                ///< the log's idea of the memory that there is, pages
  };
  Files files;
  /// Modules that were compiled with pagecast: of the process, since they are there before an engine is.
  static inline std::atomic<uint32_t> modules{0};
  static inline std::atomic<uint32_t> library_modules{0}; ///< of these, those of shared libraries
  static inline std::atomic<bool> hints_are_on{true};     ///< the process's option
  char back_end[900] = "";  ///< what serves anonymous memory, or why nothing does

  struct Sample {
    uint64_t ms;
    uint64_t budget, used;
  };
  static constexpr unsigned kSamples = 128;
  Sample sample[kSamples];
  unsigned samples = 0;
  uint64_t sample_every_ms = 50, next_sample_ms = 0;

  static constexpr unsigned kSites = 4096;
  static constexpr uint16_t kHistory = kSites; ///< the site of streams: core/faults/fault_streams.h
  SiteStatistics site[kSites + 1]{};
  std::atomic<uint32_t> sites{1};

  static constexpr unsigned kSlices = 128;
  SliceStatistics slice[kSlices];
  std::atomic<uint32_t> slices{0}; ///< of them in use

  /// The lowest bits of pagecast_nest.cache are 1 + the nest's first site, or 0. What else is in it is entry/'s.
  static constexpr unsigned kSiteBits = 16;
  static_assert(kSites < 1u << kSiteBits);
  static uint64_t site_in(uint64_t word) { return word & ((uint64_t{1} << kSiteBits) - 1); }
  /// Index of the first of the nest's sites, made at its first entry; 0 when the table is full. Any thread.
  uint32_t sites_of(const pagecast_nest *);
  /// Notes the budget over time; the interval doubles when the table is full.
  void note(uint64_t ms, uint64_t used);
};

/// Opens the file that the statistics go to. `path` may hold %p. Returns a descriptor or -errno; -EEXIST: others
/// have more to say there. The descriptor is the program's to close: it is seldom open for long.
int open_statistics(const char *path, bool active);
/// Writes the JSON, and closes the file. `finished`: the program is at its end. Returns 0 or -errno.
int write_statistics(const Statistics &, int file, bool active, const char *why_not, double wall_s, bool finished = true);
/// Writes the JSON of a program that goes on, beside the file, and puts it in the file's place. Not if that is a device or a pipe.
/// Returns 0 or -errno.
int replace_statistics(const Statistics &, const char *path, double wall_s);

} // namespace pagecast
