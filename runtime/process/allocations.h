// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The large data of the process: heap allocations, anonymous mappings and globals that may become regions, and
// the decision when they do: when, and only when, their sum exceeds the budget.
#pragma once
#include "runtime/state/regions.h"

#include <cstddef>
#include <cstdint>

namespace pagecast {

struct Allocation {
  enum Kind : uint8_t {
    kHeap,
    kMapping,
    kSparse,
    kGlobal,
    kFile,
    kReserved, ///< address space that the program has reserved (PROT_NONE): it counts as nothing, but may be part of a region
    kMap,      ///< an export that is mapped (maps.h): a region from its beginning
    kPiece     ///< a part of such that it has made writable since, or of what it has from sbrk()
  }; ///< kSparse: a mapping that the program will not fill (MAP_NORESERVE)
  uint64_t base = 0;  ///< page-aligned
  uint64_t bytes = 0; ///< whole pages
  Kind kind = kHeap;
  bool paged = false; ///< a region
  bool exempt = false; ///< never to become one
  FileMapping file;    ///< of kind kFile
  uint64_t end() const { return base + bytes; }
  /// A part of it may become address space that is only reserved, and back.
  bool may_change() const { return kind == kMapping || kind == kSparse || kind == kReserved || kind == kPiece; }
};

/// Notes large data. May start the paging, of everything large. Any thread.
void allocation_add(uint64_t base, uint64_t bytes, Allocation::Kind);
/// The same from malloc, which starting the paging calls, too, with the allocations' lock held. False: it is held, and nothing is
/// noted.
bool allocation_try_add(uint64_t base, uint64_t bytes, Allocation::Kind);
/// Reserved address space may be stored to from now on: the same.
bool allocation_try_commit(uint64_t begin, uint64_t end);

/// Notes a large mapping of a file. Files count with the rest when it is decided whether anything is to be done about
/// them, but never make anonymous memory be paged. Any thread.
void allocation_add_file(uint64_t base, uint64_t bytes, const FileMapping &);

/// Makes memory that nobody has touched a region of an export's pages. 0 or -errno. Any thread.
int allocation_add_map(uint64_t base, uint64_t bytes, const Origin &);
/// Whether some of the range is of an export that is mapped, or (`read_only`) of one that may not be stored to. Any thread.
bool allocation_is_map(uint64_t begin, uint64_t end, bool read_only = false);

/// The allocation that begins at `base`; bytes = 0 if none. Cost: 2 ns when no allocation can be there.
Allocation allocation_find(uint64_t base);

/// Whether all of [begin, end) is the program's own reserved address space, or was mapped by it as memory.
bool allocation_own(uint64_t begin, uint64_t end);
/// Maps zeros over all of the range, for which allocation_own() holds: writable ones, or (`writable` false) only reserved address
/// space. What is paged stays a region. `map(begin, end)` does it where nothing is paged: 0 or -errno. Returns that.
int allocation_map_over(uint64_t begin, uint64_t end, bool writable, int (*map)(uint64_t begin, uint64_t end, bool writable));

/// Forgets the parts of allocations in [begin, end), ending their paging first. Returns true if there were any.
/// The caller then unmaps (or reuses) the range.
bool allocation_remove(uint64_t begin, uint64_t end);

/// Bytes of large data of memory that are in memory. Called with the lock held. Cost: 2 ns a page.
uint64_t allocations_in_memory();

/// Pages what could not be paged when it was added, if anything is. Any thread.
void allocations_page();

/// Pages all large data now, whatever the budget. False: they cannot be paged. Any thread.
bool allocations_begin();

/// Before a fork, with its lock held: pages large data where there may be no memory for copies of what the child shares. Those that
/// store to it would be killed.
void allocations_page_to_fork();

/// The user's limit of the budget from now on, bytes; returns the one before. May start the paging. Any thread.
uint64_t allocations_set_memory(uint64_t bytes);

/// True if [begin, end) may overlap an allocation. Cost: 2 ns.
bool allocation_near(uint64_t begin, uint64_t end);
/// True if some of [begin, end) lies in paged allocations of anonymous memory.
bool allocation_paged(uint64_t begin, uint64_t end);
/// Makes the paged parts of the range zero (MADV_DONTNEED); true if there were any.
bool allocation_clear(uint64_t begin, uint64_t end);
/// Gives the memory of a range back, in allocations, paged or not, that nobody uses.
void allocation_discard(uint64_t begin, uint64_t end);

/// Allocations in [begin, end) will not become regions. False: some are paged already.
bool allocation_exempt(uint64_t begin, uint64_t end);

/// mprotect, or with key >= 0 pkey_mprotect, of a range that may be in allocations: no slice reads what becomes unreadable
/// from before the change on. 0 or -errno.
int allocation_protect(uint64_t begin, uint64_t end, int protection, int key);

} // namespace pagecast
