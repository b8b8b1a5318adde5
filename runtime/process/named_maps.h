// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths that stand for exports (pagecast run --map PATH=URI): a program that opens such a path, and maps what it has opened, gets
// the export as memory (maps.h). What it opens is an empty file in memory of the export's size, which the kernel neither reads nor
// writes for anybody: whoever goes past us gets an error, and never zeros.
//
// Any thread. Without the option nothing here costs more than a load.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pagecast {

/// Reads the option. When the program starts.
void named_maps_start();
extern std::atomic<int> named_maps;
/// Whether the option names any. Cost: a load.
inline bool named_maps_any() { return named_maps.load(std::memory_order_acquire) > 0; }

/// The number of what stands for the path, or -1. `path` may be relative to the working directory.
int named_map(const char *path);
/// A descriptor for the program, opened with these flags of open(); -errno, after a sentence.
int named_map_open(int number, int flags);
/// A descriptor of ours for asking about it; -errno, after a sentence.
int named_map_file(int number);

/// What a descriptor of the program's stands for.
struct NamedMap {
  int number = -1; ///< none
  bool writable = false; ///< it was opened for writing, too
};
NamedMap named_map_of(int fd);

/// mmap() of such a descriptor, but for private memory that may be stored to, which is a copy: as it returns, or -errno, after a
/// sentence.
int64_t named_map_memory(const NamedMap &, void *address, size_t bytes, int protection, int flags, uint64_t offset);
/// pread() of one. Bytes or -errno.
int64_t named_map_read(const NamedMap &, void *to, size_t bytes, uint64_t offset);

} // namespace pagecast
