// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backing store that fails on command: it stands in the place of runtime/kernel/disk.cpp (see CMakeLists.txt). What does not
// fail is real I/O. Any thread may give commands; those on single requests take effect when the request is made.
#pragma once
#include <atomic>
#include <cstdint>

namespace failing {

/// Every reservation of space, or every write, fails with this (-errno); 0: none. A failed write changes nothing.
extern std::atomic<int> reserving, writing;
/// Reads that overlap [bad_begin, bad_end) of the file fail with this.
extern std::atomic<int> reading;
extern std::atomic<uint64_t> bad_begin, bad_end;
/// Nothing is answered while the first is set, nor requests for room while the second is. Reads that the pager's thread
/// waits for itself (os::read_file) do not end while the third is.
extern std::atomic<bool> stalled, room_stalled, waiting_stalled;
/// One in so many requests fails or is late, reproducibly; 0: none. Reads of single pages do not fail.
struct Chances {
  unsigned seed = 1, read = 0, write = 0, reserve = 0, late = 0;
};
void at_random(const Chances &);
/// Reads and writes made, of any part of the file.
extern std::atomic<unsigned> reads, writes;

} // namespace failing
