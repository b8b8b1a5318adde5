// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C library's heap of small blocks, which grows at the break. Once it is more than a small part of the budget, what it grows
// by is large data like any other (allocations.h), in pieces that may become regions: a list of a billion nodes is paged as an
// array is.
// The part before stays as it is, and with it all that the runtime itself has from malloc before paging begins.
//
// The C library never gives back what it has from then on: a region must not vanish without a word. Of heaps of other threads,
// which it maps elsewhere, see arena_heaps.h.
#pragma once

namespace pagecast {

/// Notes what the heap has grown by, for each lot of small blocks: any thread, without locks of the C library. Where starting the
/// paging allocates, it waits for the next lot. Cost: some ns, unless the heap has grown by a piece.
void library_heap_grown();
/// Whether small blocks may be paged at all. library_heap_stays(): the C library gives back nothing from now on. Under its lock.
bool library_heap_may_be_paged();
void library_heap_stays();
/// Whether the block is in that part of the heap. Cost: 1 ns.
bool library_heap_has(const void *);
/// The program moves the break itself: what the C library has beside that is not told apart any more, and not noted.
void library_heap_leave();

} // namespace pagecast
