// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prefetch and release hints by hand, for data that a compiler cannot see through (linked structures,
// interpreters, generated code) and for programs in any language. Link with -lpagecast.
//
// Hints are non-binding: they never change what a program computes, and they are dropped when memory or
// the queue is full, when the address is not in a region, or when nothing is paged. All functions may be
// called from any thread and from none of them does a page fault, an abort or a message follow. They must
// not be called from a signal handler.
#ifndef PAGECAST_H
#define PAGECAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAGECAST_VERSION "0.1.0"

/// Will read [addr, addr + bytes) soon.
/// Returns the pages newly requested (0: all resident, in flight or not paged), -ENOSPC when the queue is
/// full and the hint was dropped. Cost: 5 ns when the first 64 pages are resident, 0.1-2 us otherwise.
int pagecast_prefetch(const void *addr, size_t bytes);

/// The same, for memory that will be stored to: saves the write-protection fault at the first store.
int pagecast_prefetch_write(void *addr, size_t bytes);

/// Has finished with the pages that lie wholly inside [addr, addr + bytes). `priority` says how much they
/// are worth keeping all the same: 0 = never used again, up to 7; the lowest goes first (OSDI 2000,
/// equation 2). The contents are kept: a released page that is touched again is rescued or read back.
/// Returns 0, or -ENOSPC when the queue is full. Cost: 0.1-2 us.
int pagecast_release(const void *addr, size_t bytes, unsigned priority);

/// Starts paging now, whatever the budget: all large data, of memory and of mapped files, become regions, as they do by
/// themselves once they exceed the budget. Returns 0, also when they are already, or -ENOTSUP when they cannot be paged
/// here; the reason is in the statistics. Cost: some ms the first time, then 0.1 us.
int pagecast_begin(void);

/// Memory of its own pages, all zero, that is paged whatever the budget, as pagecast_begin() says; give it back with
/// munmap(). Where nothing can be paged it is memory like any other. NULL with errno ENOMEM or EINVAL (no bytes).
/// Cost: that of mmap, and 1 us.
void *pagecast_allocate(size_t bytes);

/// pagecast_map: what is stored there goes to the export, and others see it: see pagecast_flush().
#define PAGECAST_MAP_WRITE 1u

/// [offset, offset + bytes) of an NBD server's export as memory, of which the pager holds so much as fits: nbd://HOST[:PORT]/EXPORT,
/// nbd+unix:///EXPORT?socket=PATH or nbds://. `offset` is a multiple of the page; bytes 0: all from there on. flags: 0, for memory
/// that may only be read, or PAGECAST_MAP_WRITE. Give it back with pagecast_unmap(). Two maps of the same export do not know of each
/// other. NULL with errno: EINVAL, the address is none, or the flags or the offset; ECONNREFUSED, no server answers, or it refuses;
/// EOVERFLOW, the export is smaller; EACCES, it may not be written; ENOTSUP, memory cannot be paged here; ENOSPC, more than eight
/// exports; ENOMEM. PAGECAST_VERBOSE=1 says more. Cost: some ms for the first one of an export, then 0.1 ms, and 5 ns a page.
void *pagecast_map(const char *uri, uint64_t offset, uint64_t bytes, unsigned flags);

/// The size of the export in bytes, or -errno as pagecast_map().
int64_t pagecast_map_bytes(const char *uri);

/// What was stored to [addr, addr + bytes) of a map is at its export when this returns, and outlasts a loss of power if the
/// server knows how. 0 or -errno; what could not be written stays in memory, and is tried again. As MPI_File_sync: who wrote
/// flushes; then all meet (a barrier); then who reads refreshes. Cost: that of the writes.
int pagecast_flush(void *addr, size_t bytes);

/// What is read of [addr, addr + bytes) of a map from now on is as the export has it now; what was stored here and not flushed
/// stays. 0. Cost: 0.1 ms, and 0.3 us a page that was in memory; these are read again when they are touched.
int pagecast_refresh(void *addr, size_t bytes);

/// Flushes a map, or a part in whole pages, and gives it back. 0 or -errno of the flush; it is gone in either case.
int pagecast_unmap(void *addr, size_t bytes);

/// Writes the statistics so far to the file `fd` as JSON, the same as at the end of a program (docs/statistics.md).
/// Returns 0 or -errno. Cost: 0.1 ms, and 0.3 us for each reference that has hints.
int pagecast_statistics(int fd);

/// Bytes of physical memory that regions may hold now; 0 when nothing is paged.
uint64_t pagecast_budget(void);

/// From now on large data take at most `bytes` of memory, and at least 16 MiB; UINT64_MAX: what there is. Returns what was
/// said before, by --memory or by this. Paging begins if they exceed it; what is too much goes within some ms. Cost: 1 us.
uint64_t pagecast_set_memory(uint64_t bytes);

/// 1 when some data are paged (their sum exceeded the budget), else 0. Cost: 1 ns.
int pagecast_active(void);

/// "0.1.0"
const char *pagecast_version(void);

/// The table of run-time options as text, one paragraph an option.
const char *pagecast_options_help(void);

#ifdef __cplusplus
}
#endif
#endif
