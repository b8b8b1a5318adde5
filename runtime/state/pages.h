// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the pager knows of every page of every region, and where pages live.
//
//   slot     the number of a page among all pages of all regions; also its offset in the backing file, in pages
//   grain    64 slots with consecutive addresses; slots are handed out by the grain
//   chunk    256 such slots, for which the tables take a page of memory or two
//   zero     absent, contents all zero, nothing in the backing file
//   absent   contents only in the backing file
//   reading  on its way into memory
//   mark     in the pager's own memory, to be shown when the program faults on it: the mark of a stream
//   shelved  in the pager's own memory, about to go: its second chance (memory/shelf.h)
//   lost     could not be read back: touching it raises SIGBUS until it is cleared or removed
//   clean    resident and write-protected; the backing file (or "zero") has the same contents
//   dirty    resident and writable; must be written before it may go
//   writing  resident, on its way to the backing file; protected unless kRedirtied
//   forked   as dirty, but write-protected since a fork: another process has it, too, and the first store takes memory for a copy
//
// Owned by the pager's thread; nobody else reads or writes it.
#pragma once
#include "core/memory/replacement.h"
#include <cstdint>

namespace pagecast {

enum class PageState : uint8_t { kZero, kAbsent, kReading, kMark, kShelved, kLost, kClean, kDirty, kWriting, kForked };

enum PageFlag : uint8_t {
  kPrefetched = 1, ///< came by a hint and has not been counted as hit, late or unused
  kNoBacking = 2, ///< clean with zero contents: dropping it makes it zero, not absent
  kEvict = 4, ///< writing in order to go
  kRedirtied = 8, ///< stored to while it was being written
  kWriteIntent = 16, ///< reading for a store: to be installed writable
  kDemand = 32, ///< a thread waits for it
  kDone = 64, ///< dirty and released, but not in the order of eviction as such: it waits for its cluster (memory/releases.h)
  kToMark = 128, ///< reading, to be kept as a mark
};

/// `wanted_by` of pages that were asked for because of faults: of streams, by the distance of their pages, or of a succession.
enum StreamKind : uint32_t { kInOrder = 1, kApart = 2, kSuccessive = 3 };

/// Widths of what a page remembers of the hint that asked for it.
inline constexpr unsigned kNestBits = 5, kTurnBits = 5, kWantedByBits = 20, kPageSiteBits = 13, kOwnerBits = 3;
/// What a field of so many bits keeps of `value`.
constexpr uint32_t low_bits(uint64_t value, unsigned bits) { return static_cast<uint32_t>(value & ((uint64_t{1} << bits) - 1)); }

struct Page {
  PageState state;
  uint8_t flags;
  uint16_t site : kPageSiteBits; ///< index into the site statistics; 0 = no hint
  uint16_t owner : kOwnerBits; ///< thread for which it came (core/memory/favour.h)
  uint32_t nest : kNestBits; ///< number in nest_table of the nest that asked for it
  uint32_t turn : kTurnBits; ///< which of the nests that this entry has held (modulo 2^kTurnBits)
  uint32_t again : 1; ///< it has been on the shelf (memory/shelf.h) since it was last read
  uint32_t kept : 1; ///< it was kept (core/memory/kept_share.h) since it came, or before it went
  uint32_t wanted_by
      : kWantedByBits; ///< step (modulo 2^kWantedByBits) by which that nest wanted it; of a shelved page, its place
};
static_assert(sizeof(Page) == 8);

/// Slots are handed out in grains, so that a region of 1 MiB and a little takes little more than that.
inline constexpr uint32_t kGrainPages = 64;
/// Whether slots have been in use is noted by chunks: the tables of one take a page of memory or two.
inline constexpr uint32_t kChunkPages = 256;
static_assert(kChunkPages % kGrainPages == 0);
inline constexpr uint32_t kNoSlot = ~0u;

/// Pages with consecutive slots, and so with consecutive addresses.
struct PageRun {
  uint32_t slot, pages;
};

/// What is known of a page's next use when it is released.
struct Wanted {
  unsigned priority; ///< in its own nest
  bool dead; ///< overwritten then
  uint64_t due; ///< by a later nest, in the pager's units (core::Forecast::Next::rank); 0 = not known
};

class PageTable {
public:
  /// Reserves address space for the tables; memory follows use. False if the space cannot be had.
  bool start();

  /// `pages` consecutive slots for addresses from `address` on, all zero. kNoSlot when there are none.
  uint32_t allocate(uint64_t address, uint64_t pages);
  /// Gives back slots that allocate returned (whole grains of the range). `last`: none of the same allocation follow that are
  /// still in use.
  void free(uint32_t first, uint64_t pages, bool last);

  /// Notes that pages of [slot, slot+pages) are about to leave the zero state: their chunks take memory from now on.
  void use(uint32_t slot, uint32_t pages);
  /// Whether any page around `slot` has ever been in use; if not, all of its chunk are zero pages.
  bool used(uint32_t slot) const { return used_[slot / kChunkPages / 64] >> (slot / kChunkPages % 64) & 1; }
  /// The first slot of [slot, end) in a chunk in use, or `end`.
  uint32_t next_used(uint32_t slot, uint32_t end) const;
  /// Slots in chunks that are or were in use: what the tables cost.
  uint64_t slots_used() const { return uint64_t{chunks_used_} * kChunkPages; }

  Page &operator[](uint32_t slot) { return pages_[slot]; }
  const Page &operator[](uint32_t slot) const { return pages_[slot]; }
  uint64_t address(uint32_t slot) const {
    return grain_address_[slot / kGrainPages] + (static_cast<uint64_t>(slot % kGrainPages) << shift_);
  }
  core::Replacement::Link *links() { return links_; }
  uint16_t *groups() { return groups_; }
  uint32_t capacity() const { return kSlots; }
  /// Slots ever handed out: the length of the backing file in pages.
  uint32_t high_water() const { return next_; }
  static constexpr uint32_t kSlots = 1u << 30; ///< 4 TiB of regions with 4 KiB pages
  /// Bytes of memory that the tables take per page of a region.
  static constexpr uint64_t kBytesPerPage = sizeof(Page) + sizeof(core::Replacement::Link);

private:
  struct Free {
    uint32_t first, grains;
  };
  static constexpr unsigned kFree = 1024;

  Page *pages_ = nullptr;
  core::Replacement::Link *links_ = nullptr;
  uint16_t *groups_ = nullptr; ///< of links
  uint64_t *grain_address_ = nullptr;
  uint64_t *used_ = nullptr; ///< one bit per chunk
  uint32_t chunks_used_ = 0;
  uint32_t next_ = 0;
  unsigned shift_ = 12;
  Free free_[kFree];
  unsigned free_count_ = 0;
};

} // namespace pagecast
