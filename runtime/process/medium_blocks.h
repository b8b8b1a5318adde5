// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a page to PAGECAST_LARGE, as the rows of matrices that are allocated one by one: when a program has many of
// them, those that follow lie together in one range of addresses, in large blocks that are noted (allocations.h), and paged, like
// any other. Until then, and for all that asks for an alignment (as buffers of direct I/O do), they are the C library's.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pagecast {

/// Memory for so many bytes, aligned to 1 KiB; NULL: it is the C library's to give. `used`: how many bytes
/// at its beginning may not be zero. Any thread. Cost: 30 ns; each eighth more of such memory that is in use is noted as a large block.
void *medium_take(size_t bytes, size_t *used = nullptr);
/// Where they lie; 0: there are not many yet. Written by medium_blocks.cpp alone.
struct MediumRange {
  static constexpr uint64_t kBytes = 256ull << 30; ///< of addresses, kept free for all there will ever be
  std::atomic<uint64_t> base{0};
};
extern MediumRange medium_range;
/// Whether `p` came from medium_take(). Cost: 1 ns.
inline bool is_medium_block(const void *p) {
  const uint64_t from = medium_range.base.load(std::memory_order_relaxed);
  return from && reinterpret_cast<uint64_t>(p) - from < MediumRange::kBytes;
}
/// Usable bytes.
size_t medium_bytes(const void *p);
void medium_give(void *p);
/// Makes it longer or shorter where it is, if that can be done.
bool medium_resize(void *p, size_t bytes);

} // namespace pagecast
