// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that a profile knows: those of PAGECAST_LARGE and more that the program maps or reads, by their paths. And where
// in the program's memory they are mapped.
//
// Threads: whoever holds the profile's lock.
#pragma once
#include <cstdint>

namespace pagecast::profile {

inline constexpr uint32_t kMostDataSets = 256, kMostMapped = 1024;
inline constexpr uint32_t kNoDataSet = ~0u;

struct DataSet {
  uint64_t device, inode, bytes;
  uint32_t announced; ///< the generation of the part that has its path
  char path[1012];
};

/// A range of addresses, and what is there of a data set.
struct Mapped {
  uint64_t begin, end;
  uint64_t offset; ///< of the data set's byte at `begin`
  uint32_t data_set;
};

class DataSets {
public:
  /// False: no address space.
  bool start(uint64_t least_bytes);
  /// The data set that is the file behind the descriptor; kNoDataSet: it is none, or there are too many. Cost: 0.3 us, the first time 4 us.
  uint32_t of(int fd);
  DataSet &operator[](uint32_t number) { return sets_[number]; }

  void map(uint64_t begin, uint64_t end, uint64_t offset, uint32_t data_set);
  /// Whatever was mapped there is no more.
  void unmap(uint64_t begin, uint64_t end);
  /// `bytes` of the same, from its beginning on, are at `to` now.
  void move(uint64_t begin, uint64_t end, uint64_t to, uint64_t bytes);
  /// One that the range overlaps, `at` itself if it can be; NULL: there is none. Cost: the mappings.
  const Mapped *find(uint64_t at, uint64_t begin, uint64_t end) const;

private:
  DataSet *sets_ = nullptr;
  Mapped *mapped_ = nullptr;
  uint32_t count_ = 0, mapped_count_ = 0;
  uint64_t least_bytes_ = 0;
};

} // namespace pagecast::profile
