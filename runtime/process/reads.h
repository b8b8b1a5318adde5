// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads of the program's own that are under way into large allocations. A direct one (O_DIRECT) has the device write to the
// memory of the pages that were there when it began, whatever becomes of them. So an allocation must not become a region
// under it: the pager would write the page out and discard it, or copy it into a file, before the data arrive.
//
// Who reads notes it, then looks whether the allocation is paged; who is about to page an allocation has made the pager known and
// holds the allocations' lock, then looks for reads. One of the two sees the other.
//
// A signal handler may leave a read by a jump. What is noted of it goes when the thread reads next, or ends: the note lies
// on the stack then where there is nothing any more.
#pragma once
#include <atomic>
#include <cstdint>

namespace pagecast {

/// While it lives, a read into [begin, end) from `fd` is noted. Any thread, also in signal handlers. Cost: 10 ns.
class ReadUnderWay {
public:
  ReadUnderWay(uint64_t begin, uint64_t end, int fd);
  /// Pages the allocation now, if that had to wait for this read.
  ~ReadUnderWay() { finish(); }
  ReadUnderWay(const ReadUnderWay &) = delete;
  ReadUnderWay &operator=(const ReadUnderWay &) = delete;
  /// False: too many are under way.
  bool noted() const { return entry_ != nullptr; }
  /// It is over.
  void finish();
  /// It goes on, into buffers instead.
  void detour();
  /// Memory of the read's own, one piece at a time, until drop_buffer(): it does not stay if the read is left. NULL on failure.
  char *take_buffer(uint64_t bytes);
  void drop_buffer();

private:
  struct ReadEntry *entry_;
  void *buffer_ = nullptr;
  uint64_t buffer_bytes_ = 0;
};

// --- what the program has said of the order in which it reads open files ---
// Any thread, without a lock. Of descriptors with high numbers, and of those made by dup(), nothing is known.
/// By posix_fadvise(); what else that may advise is none of this. Cost: 0.3 us.
void note_read_advice(int fd, int advice);
/// POSIX_FADV_NORMAL where nothing was said, or nothing is known. Cost: 0.3 us where something was.
int read_advice(int fd);

// --- which descriptors are direct, once the kernel cannot be asked (kernel/sandbox.h) ---
// Any thread, without a lock. A descriptor that nothing is known of may be direct.
/// The program is about to put on a filter: notes of all low descriptors whether they are. Cost: a system call each, 0.1 ms.
void note_direct_descriptors();
/// The program has opened `fd`, if it is one, with these flags; returned as it is. Cost: a load without a filter.
int note_opened(int fd, int flags);
/// It closes those from `first` to `last`. Cost: the same.
void note_closed(unsigned first, unsigned last);
inline void note_closed(int fd) { note_closed(static_cast<unsigned>(fd), static_cast<unsigned>(fd)); }
/// Whether reads from `fd` may be direct ones. Cost: a system call, none in a sandbox.
bool may_be_direct(int fd);

// --- under the allocations' lock ---
/// Whether direct reads into [begin, end) are under way; the last of them will page it (allocations_page()). Cost: 50 ns,
/// and a system call for each read there.
bool direct_reads_under_way(uint64_t begin, uint64_t end);
/// The kernel has moved the pages, and with them what is being read. Before their new place is noted as an allocation.
void reads_moved(uint64_t begin, uint64_t end, uint64_t to);
/// In the child of a fork, which a handler may have made in the middle of a read: other readers are not there.
void reads_forked();

} // namespace pagecast
