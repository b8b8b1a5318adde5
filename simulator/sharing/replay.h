// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recorded run against one I/O node, under each scheme: how long it takes, and what the node's disk and cache do.
//
// Members have memory of their own for pages, of which the last used stay. What they have stored is written when they meet, and what
// any of them has stored everyone reads anew after that, as MPI-IO has it.
//
// Without a scheme a page is asked for when it is touched. Else a member has asked for the pages of its next steps before it comes to them, but
// never beyond the interval of which the blocks have been asked of the node's cache. Whoever asks pays for each request with
// processor time, of which all members and helpers share so many processors.
#pragma once
#include "core/sharing/storage_cache.h"
#include "simulator/sharing/recorded.h"
#include "simulator/sharing/schemes.h"

namespace pagecast::simulator {

struct RunMachine {
  uint32_t processors = 2; ///< for all members
  uint64_t page = 4096; ///< bytes
  uint64_t block = 32 << 10, cache = 1 << 20; ///< bytes
  uint64_t memory = 8 << 20; ///< of each member for pages, bytes
  uint64_t latency = 1000, rate = 0; ///< of the disk: microseconds of a request, bytes in a second
  uint64_t request = 100; ///< microseconds of a processor for a request to the node: it, and all who pass it on
  uint64_t turn = 40; ///< ... of the disk's thread, between two requests
};

struct RunReport {
  uint64_t micros = 0;
  uint64_t disk_reads = 0, disk_writes = 0, disk_bytes = 0; ///< requests; bytes that were read
  uint64_t requests = 0; ///< of members, for pages
  uint64_t meetings = 0, teams = 0;
  core::ClientCounts counts;
};

RunReport replay(const RecordedRun &, const RunMachine &, const Scheme &);

} // namespace pagecast::simulator
