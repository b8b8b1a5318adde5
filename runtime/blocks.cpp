// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/blocks.h"

#include "runtime/fork.h"
#include "runtime/guards.h"
#include "runtime/locks.h"
#include "runtime/nest_slots.h"
#include "runtime/pager.h"
#include "runtime/runtime.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace pagecast {
namespace {

constexpr unsigned kMost = 65536;
Block *blocks = nullptr; ///< sorted by base
unsigned count = 0;
uint64_t total = 0; ///< bytes
// Bounds of all blocks, for the test that most calls end at. Only ever widened.
std::atomic<uint64_t> lowest{~0ull}, highest{0};

unsigned lower(uint64_t address) {
  return static_cast<unsigned>(
      std::partition_point(blocks, blocks + count, [&](const Block &b) { return b.end() <= address; }) - blocks);
}

/// Starts the paging of everything, or of the newest block. Called with the lock held.
void page_blocks() {
  Pager *pager = runtime_running_pager();
  if (!pager) {
    uint64_t sparse = 0;
    for (unsigned i = 0; i < count && total > runtime_budget(); ++i) sparse += blocks[i].kind == Block::kSparse ? blocks[i].bytes : 0;
    pager = runtime_pager(total, total - sparse);
  }
  if (!pager) return;
  for (unsigned i = 0; i < count; ++i)
    if (!blocks[i].paged && !blocks[i].exempt && pager->add(blocks[i].base, blocks[i].bytes) == 0) blocks[i].paged = true;
}

} // namespace

void block_add(uint64_t base, uint64_t bytes, Block::Kind kind) {
  Guard guard(locks::blocks);
  if (!blocks) {
    blocks = static_cast<Block *>(os::reserve(kMost * sizeof(Block)));
    watch_forks();
  }
  if (!blocks || count == kMost) return;
  const unsigned i = lower(base);
  memmove(blocks + i + 1, blocks + i, (count - i) * sizeof(Block));
  blocks[i] = {base, bytes, kind};
  ++count;
  total += bytes;
  if (base < lowest.load(std::memory_order_relaxed)) lowest.store(base, std::memory_order_relaxed);
  if (base + bytes > highest.load(std::memory_order_relaxed)) highest.store(base + bytes, std::memory_order_relaxed);
  page_blocks();
}

bool block_near(uint64_t begin, uint64_t end) {
  return begin < highest.load(std::memory_order_relaxed) && end > lowest.load(std::memory_order_relaxed);
}

Block block_find(uint64_t base) {
  if (!block_near(base, base + 1)) return {};
  Guard guard(locks::blocks);
  const unsigned i = lower(base);
  return i < count && blocks[i].base == base ? blocks[i] : Block{};
}

bool block_remove(uint64_t begin, uint64_t end) {
  if (!block_near(begin, end)) return false;
  Guard guard(locks::blocks);
  bool any = false;
  for (unsigned i = lower(begin); i < count && blocks[i].base < end;) {
    const Block whole = blocks[i];
    Block left = whole, right = whole;
    left.bytes = begin > whole.base ? begin - whole.base : 0;
    right.bytes = whole.end() > end ? whole.end() - end : 0;
    right.base = whole.end() - right.bytes;
    const uint64_t from = std::max(begin, whole.base), to = std::min(end, whole.end());
    if (Pager *pager = whole.paged ? runtime_running_pager() : nullptr) {
      pager->remove(from, to - from);
      slicer_let_go();
    }
    guards.unreadable.remove(from, to);
    guards.keyed.remove(from, to);
    const unsigned keep = (left.bytes != 0) + (right.bytes != 0);
    if (count - 1 + keep > kMost) right.bytes = 0;
    memmove(blocks + i + keep, blocks + i + 1, (count - i - 1) * sizeof(Block));
    count = count - 1 + keep;
    if (left.bytes) blocks[i++] = left;
    if (right.bytes) blocks[i++] = right;
    total -= to - from;
    any = true;
  }
  return any;
}

bool block_paged(uint64_t begin, uint64_t end) {
  if (!block_near(begin, end)) return false;
  Guard guard(locks::blocks);
  for (unsigned i = lower(begin); i < count && blocks[i].base < end; ++i)
    if (blocks[i].paged) return true;
  return false;
}

bool block_clear(uint64_t begin, uint64_t end) {
  if (!block_near(begin, end)) return false;
  Guard guard(locks::blocks);
  bool any = false;
  for (unsigned i = lower(begin); i < count && blocks[i].base < end; ++i) {
    Pager *pager = blocks[i].paged ? runtime_running_pager() : nullptr;
    if (!pager) continue;
    const uint64_t from = std::max(begin, blocks[i].base);
    pager->clear(from, std::min(end, blocks[i].end()) - from);
    any = true;
  }
  return any;
}

bool block_exempt(uint64_t begin, uint64_t end) {
  Guard guard(locks::blocks);
  const unsigned first = lower(begin);
  for (unsigned i = first; i < count && blocks[i].base < end; ++i)
    if (blocks[i].paged) return false;
  for (unsigned i = first; i < count && blocks[i].base < end; ++i) blocks[i].exempt = true;
  return true;
}

int block_protect(uint64_t begin, uint64_t end, int protection, int key) {
  // Under the lock as a whole, so that what is noted is what the last of several threads did.
  Guard guard(locks::blocks);
  const bool readable = protection & PROT_READ;
  bool paged = false;
  for (unsigned i = lower(begin); i < count && blocks[i].base < end; ++i) {
    const uint64_t from = std::max(begin, blocks[i].base), to = std::min(end, blocks[i].end());
    if (!readable) guards.unreadable.add(from, to);
    if (key > 0) guards.keyed.add(from, to);
    paged |= blocks[i].paged;
  }
  if (paged && (!readable || key > 0) && runtime_running_pager()) slicer_let_go();
  // A change that fails may have been made in part: what was noted stays, which costs hints at most.
  const int error = os::protect_mapping(begin, end - begin, protection, key);
  if (!error && readable) guards.unreadable.remove(begin, end);
  if (!error && key == 0) guards.keyed.remove(begin, end);
  return error;
}

} // namespace pagecast
