// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The account of a traced run: which blocks were hinted, prefetched and read, and in which order.
//
//   hinted  -> read               a hint that was right
//   hinted  -> the run ends       a hint in error; read before: a late one, which is not counted
//   fetched -> read               prefetched fully; partly, if the read came while it was being fetched
//   written -> read               the program's own: it is in memory, and no hint can be of use
//   mapped                        reads through mappings are not seen, and so hints of what is mapped are not judged
//
// Example: 3 blocks are hinted, 2 of them fetched, and the program reads the first. Hinted in error: 2 blocks. Unused: 1.
//
// Only traced runs have one: it allocates, and knows every block. Threads: any, by one lock.
#pragma once
#include "speculate/watch/hint_log.h"
#include <mutex>
#include <unordered_map>
#include <vector>

namespace pagecast::speculate {

struct AccountCounts {
  uint64_t reads = 0, reads_hinted = 0;             ///< calls that gave data; those of which all blocks had been hinted before
  uint64_t reads_at_end = 0;                        ///< calls that found the end of a file
  uint64_t blocks = 0, blocks_hinted = 0;           ///< added up over calls
  uint64_t bytes = 0, bytes_hinted = 0;             ///< the same
  uint64_t hints = 0, hints_in_error = 0;           ///< ranges; those of which no block was ever read
  uint64_t blocks_in_error = 0;                     ///< hinted and never read
  uint64_t fully = 0, partly = 0, unused = 0;       ///< blocks that were prefetched; unused: never read
  uint64_t reused = 0;                              ///< reads of blocks that had been read before
  uint64_t reads_own = 0, blocks_own = 0;           ///< not hinted: the program had written it itself, all of it or this block
};

class Ledger : public HintObserver {
public:
  static constexpr uint64_t kBlock = 4096; ///< bytes

  /// A read call that has begun.
  struct Reading {
    uint64_t inode = 0, offset = 0, length = 0; ///< bytes; length 0 = not a read of a regular file
    std::vector<uint8_t> before;                ///< what was known of each block when it began
  };

  void hinted(uint64_t inode, uint64_t offset, uint64_t length) override;
  void fetching(uint64_t inode, uint64_t offset, uint64_t length, bool done) override;
  void begin(Reading *reading, uint64_t file_size);
  /// It gave so many bytes.
  void end(const Reading &reading, uint64_t bytes);
  /// The program has written these bytes.
  void wrote(uint64_t inode, uint64_t offset, uint64_t bytes);
  /// It has mapped these.
  void mapped(uint64_t inode, uint64_t offset, uint64_t bytes);
  AccountCounts counts();

private:
  struct FileBlock {
    uint64_t inode, block;
    bool operator==(const FileBlock &) const = default;
  };
  struct Hash {
    size_t operator()(const FileBlock &p) const { return p.inode * 0x9e3779b97f4a7c15u ^ p.block * 0xc2b2ae3d27d4eb4fu; }
  };
  struct Range {
    uint64_t inode, first, end; ///< blocks
  };
  static Range range_of(uint64_t inode, uint64_t offset, uint64_t length) {
    return {inode, offset / kBlock, (offset + length + kBlock - 1) / kBlock};
  }

  bool is_mapped(const FileBlock &block) const;

  std::mutex mutex_;
  std::unordered_map<FileBlock, uint8_t, Hash> states_;
  std::unordered_map<uint64_t, uint64_t> sizes_; ///< of files that were read, in bytes
  std::unordered_map<uint64_t, std::vector<Range>> mapped_; ///< by file
  std::vector<Range> hints_;
  AccountCounts counts_;
};

} // namespace pagecast::speculate
