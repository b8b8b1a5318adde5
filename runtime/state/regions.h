// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The regions: address ranges that one back end manages. The pager's thread alone changes the pager's, and under a
// lock of its own the advise back end its own (advise.h); other threads look addresses up under a lock that is never
// held across a system call or a page access.
#pragma once
#include "core/faults/append_streams.h"
#include "core/faults/fault_streams.h"
#include "core/faults/passed_pages.h"
#include "core/faults/store_predictor.h"
#include "core/faults/stream_investment.h"
#include "core/faults/surroundings.h"

#include <cstdint>

namespace pagecast {

/// What allocations.cpp knows of a mapping of a file.
struct FileMapping {
  uint32_t request_bytes = 0; ///< of the largest request (os::FileFacts); 0 = not a file's
  bool may_give_up = false; ///< shared, or never written: its pages are the file's
  bool opaque = false;     ///< which of its pages are in memory cannot be seen (os::FileFacts)
  bool shared = false;     ///< what is stored to it is the file's at once
  uint64_t read_ahead = 0;     ///< bytes that the kernel reads ahead of a stream at most
  uint64_t origin = 0;     ///< the address where the file's first byte would be
};

/// What all threads may know of one.
struct Region {
  enum Kind : uint8_t {
    kMemory,  ///< the pager's
    kFile,    ///< the program's mapping of a file: advice serves it
    kOwnFile, ///< memory in a file of ours (memory_file.h), which advice serves, too
  };
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint32_t first_slot = 0; ///< where its pages are: in the page table and the backing store, or in the file of ours
  Kind kind = kMemory;
  uint64_t look_ahead = 0; ///< bytes beyond what slices see stored to that should be there already; atomic; 0: it does not grow
  uint64_t end() const { return base + bytes; }
  bool is_file() const { return kind != kMemory; }
  /// Loses what lies before `address`.
  void begin_at(uint64_t address, unsigned page_shift) {
    first_slot += static_cast<uint32_t>((address - base) >> page_shift);
    bytes -= address - base;
    base = address;
  }
};

/// Where the pages of a region come from, and go to: the backing store, each to the offset of its slot, or an export that is mapped.
struct Origin {
  uint8_t map = 0; ///< 1 + the number of the export (store/backing_store.h); 0: the backing store
  bool writable = false; ///< of an export: what is stored goes back there
  uint64_t start = 0; ///< of an export: where slot 0 would be there, modulo 2^64
  bool is_map() const { return map != 0; }
};

/// A region of memory: all but Region's fields is the pager's thread's.
struct PagedRegion : Region {
  Origin origin;
  uint32_t in_flight = 0; ///< requests under way
  uint32_t pinned = 0; ///< nests under way that use all of it without hints
  bool draining = false; ///< about to go: nothing new is started
  uint32_t store_next = 0; ///< the slot behind the last pages that a first store made writable, upward or downward
  uint32_t store_pages = 0; ///< how many these were
  uint64_t zero_faults = 0; ///< pages never stored to before that were filled for faults
  uint64_t zero_hints = 0; ///< and by hints
  core::AppendStreams append_streams;
  core::AppendStreams refill; ///< the same of pages that have contents
  /// Streams of faults (pager/stream_fetcher.h), by the distance of their pages.
  core::StreamInvestment apart{core::FaultStreams::kMostWindowApart}, in_order{core::FaultStreams::kMostWindow};
  core::PassedPages passed[core::PassedNotes::kKinds]; ///< behind streams in order: clean pages, and unwritten ones
  core::Surroundings surroundings;
  core::StorePredictor store_predictor; ///< whether pages that are read for loads will be stored to
  /// Whether pages may be made writable, and so dirty, before a store to them comes. Not those of an export that is mapped:
  /// a page that was not stored to would stay as it is when another program changes it, and be written over that.
  bool may_expect_stores() const { return !origin.is_map(); }
};

/// A region of a file: under the advice's lock.
struct FileRegion : Region {
  uint32_t request_bytes = 0; ///< of the largest request
  bool may_give_up = false; ///< its pages are the file's, never the process's own
  bool opaque = false; ///< which of its pages are in memory cannot be seen
  bool shared = false; ///< taking its pages out of this process's page table loses nothing
  bool scattered = false; ///< the kernel was told not to read around misses
  bool alone = false; ///< the same, as no hint comes and what is read around them goes unused (core/files/read_around.h)
  bool strided = false; ///< the same, while faults at even distances are followed (files/fault_follower.h)
  bool hinted = false; ///< hints have come for it since it was last looked at
  uint8_t quiet = 0; ///< looks at it since hints came
  core::AppendStreams append_streams;
  uint64_t stream_end = 0; ///< where the last request ended
  uint32_t stream = 0; ///< requests in a row that each began where the last one ended
  uint64_t asked_end = 0; ///< where the adviser's last request ended
  uint32_t streak = 0; ///< requests in a row that say otherwise
  uint64_t read_ahead = 0; ///< bytes that the kernel reads ahead of a stream at most
  bool large = false; ///< streams through it may be read in large folios (files/large_reader.h)
  uint8_t no_large = 0; ///< reads in a row that made none
  uint64_t twin = 0; ///< address of a second mapping of the same pages of the file, for those reads; 0: there is none
  void begin_at(uint64_t address, unsigned page_shift) {
    if (twin) twin += address - base;
    Region::begin_at(address, page_shift);
  }
};

/// Sorted by address, disjoint.
template <class R> class RegionTable {
public:
  bool start();
  unsigned count() const { return count_; }
  bool full() const { return count_ == kMost; }
  R &operator[](unsigned i) { return regions_[i]; }

  /// The region that holds `address`, or NULL. Pager's thread; the last answer is tried first.
  R *find(uint64_t address);
  /// The first region that ends above `address`, or NULL. Pager's thread.
  R *at_or_after(uint64_t address);
  /// What all may know of the region that holds `address`; bytes = 0 if none. Any thread. Cost: a lock, log2(regions).
  Region look_up(uint64_t address);

  bool insert(const R &);
  /// Adds what follows it, whose slots follow its own, too, to the region.
  void grow(R &, uint64_t bytes);
  /// Cuts [begin, end) out of the regions; what sticks out on either side stays a region.
  void cut(uint64_t begin, uint64_t end, unsigned page_shift);

private:
  static constexpr unsigned kMost = 65536;
  unsigned lower(uint64_t address) const;
  R *regions_ = nullptr;
  unsigned count_ = 0;
  unsigned last_ = 0;
};

using PagedRegions = RegionTable<PagedRegion>;
using FileRegions = RegionTable<FileRegion>;

/// In the child of a fork: whoever was looking up is not there.
void regions_forked();

} // namespace pagecast
