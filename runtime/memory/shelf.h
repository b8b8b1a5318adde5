// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shelf: pages that are about to go wait here for their second chance (core/memory/second_chance.h), copied into the pager's own
// memory, and compressed if asked for, where that makes them smaller (packed_pages.h). A fault on one puts it back without a read.
// Others go when their place is needed: clean ones at once, dirty ones have been written from here before. So a page that is stored to
// all the time is not written each time.
//
//   take     the program's page is copied, and discarded           kClean, kDirty -> kShelved
//   show     it is back where the program sees it                  kShelved -> kClean, kDirty, or kWriting if it is being written
//   drop     its contents are in the backing store                 kShelved -> kAbsent
//
// The memory counts as the runtime's own (Statistics::own_bytes). It grows by steps up to the share of the budget that pays, and is
// given back as a whole: at once when the budget falls, and bit by bit when the second chance does not pay. The pages that wait then are
// mostly in use, and to write and read all of them at the same time would keep the disk from what the program waits for.
//
// Pager's thread.
#pragma once
#include "runtime/memory/discards.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/packed_pages.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/store/backing_store.h"

#include <cstdint>

namespace pagecast {

class Shelf {
public:
  Shelf(PagedMemory &memory, MemoryLimit &limit, BackingStore &store, Placement &placement, Discards &discards)
      : memory_(memory), limit_(limit), store_(store), placement_(placement), discards_(discards) {}

  /// Reserves address space, of which some is used: the program may have plans for what is free later. `budget`: bytes.
  void start(uint64_t budget);
  /// Takes pages that nobody released, and that are to wait rather than go: no hint and no stream brought them, so that their next use
  /// would be waited for. `slots`: ascending, and out of the order of replacement. Returns how many are left, which are its first
  /// ones then. The others have gone from the program's sight, and their memory is free after the next Discards::flush().
  uint32_t take(uint32_t *slots, uint32_t count);
  /// Puts a page back, writable where it is dirty or `write`. There must be room for it. `waited_for`: by the program; what others
  /// foresaw is no sign that a second chance pays, since they would have had it read in time.
  void show(uint32_t slot, bool write, bool waited_for);
  /// What is kept of a page that waits, until the next call, for who puts it back by himself; put_back(): he has, with nothing being
  /// written.
  const char *contents_of(uint32_t slot) const;
  void put_back(uint32_t slot);
  /// The program gives the page up. It is not being written.
  void forget(uint32_t slot) { free(memory_[slot].wanted_by); }
  /// A write from here is done, or failed. To be called when those of its pages that have left the shelf have been seen to.
  void written(const Request &, bool good);

  /// Once in each turn of the loop: grows or shrinks, writes what is to go next, and decides whether all this pays.
  void keep_up();

  /// For tests: whether the page is being written from here.
  bool writes(uint32_t slot) const { return entry_[memory_[slot].wanted_by].state == Entry::kWriting; }
  /// What does not hold, or NULL.
  const char *broken_invariant() const;

private:
  /// A place for a page. Those whose page waits are in a list, the oldest first.
  struct Entry {
    enum State : uint8_t { kFree, kWaits, kWriting } state;
    bool dirty;
    bool again; ///< the page had come back before
    PackedPages::Packed packed;
    uint32_t slot, prev, next; ///< of a free place, `next` is another free one
    uint32_t came; ///< came_, when it did
  };
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint32_t kMost = 1u << kWantedByBits; ///< pages: places fit into Page::wanted_by
  static constexpr uint32_t kCopied = 16, kWritten = 32; ///< pages that are copied at once, and being written

  bool wants(uint32_t slot) const;
  bool copy(const uint32_t *slots, uint32_t count);
  bool open();
  void grow();
  void close();
  void account();
  uint32_t new_place();
  void append(uint32_t place);
  void unlink(uint32_t place);
  void free(uint32_t place);
  void drop(uint32_t place);
  void note_return(uint32_t slot, const Entry &, bool waited_for);
  uint32_t oldest_to_go() const;
  bool make_room(uint64_t bytes);
  void keep(uint32_t slot, uint32_t place, const char *page);
  void write_next(uint32_t left);
  void write_ahead();
  uint32_t write_run(uint32_t place);
  uint32_t take_copies(uint32_t count, uint32_t *first);
  void give_copies(uint32_t first, uint32_t count);
  void leave_copy(uint32_t place);
  uint64_t target(double share) const;
  void drain(uint32_t most);
  void give_back(uint32_t pages);
  void shrink();
  uint32_t pace();
  char *copied(uint32_t i) const { return copied_ + memory_.bytes(i); }
  char *written_copy(uint32_t i) const { return copied_ + memory_.bytes(kCopied + i); }

  PagedMemory &memory_;
  MemoryLimit &limit_;
  BackingStore &store_;
  Placement &placement_;
  Discards &discards_;
  PackedPages packed_;
  char *copied_ = nullptr; ///< kCopied pages as the program had them; behind these, kWritten that are written to the disk
  Entry *entry_ = nullptr;
  uint32_t places_ = 0, most_places_ = 0; ///< that are in use or free, and that there is address space for
  uint32_t free_ = kNone; ///< the first free place
  uint32_t first_ = kNone, last_ = kNone, waiting_ = 0; ///< places whose page waits or is being written: the oldest, the youngest
  uint64_t capacity_ = 0; ///< bytes of memory that it may take
  double share_ = 0; ///< the part of memory that this was
  uint64_t paced_ = 0; ///< pages that had come and gone when pace() was last asked
  uint32_t came_ = 0; ///< pages so far, modulo 2^32
  uint32_t being_written_ = 0; ///< a bit for each page behind copied_
  uint32_t place_written_[kWritten]; ///< whose page each of them has; kNone: it has come back meanwhile
  uint32_t taken_ = 0; ///< pages, since write_next() looked
  uint64_t take_ns_ = 0, show_ns_ = 0; ///< the thread's own time to take a page, and to show one, lately
  bool lacks_place_ = false; ///< since then: the oldest page is to be written first
  bool closing_ = false;
};

} // namespace pagecast
