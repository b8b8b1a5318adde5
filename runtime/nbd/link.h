// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's end of a helper for NBD (nbd/): a process of its own that talks to a server by libnbd, so that nothing of that
// library, of TLS and of their threads and memory is in the program. It ends when this process does, or begins another program.
//
// Pager's thread, and the thread that forks.
#pragma once
#include "runtime/nbd/channel.h"

#include <cstdint>

namespace pagecast {

class NbdLink {
public:
  /// Memory that the helper reads into, and writes from.
  struct Staging {
    int fd; ///< -1: there is none but the buffers
    uint64_t bytes;
  };
  /// What the export is for: pages that are kept nowhere else, so that it must let itself be written; or its own data.
  enum Needs : uint8_t { kBacking, kMap };
  /// Where the helper is: to be called early, since it takes the linker's lock. Does nothing where `option` names no server.
  static void find_helper(const char *option);
  /// The same, for who knows that one is needed.
  static void find_helper();

  /// Starts the helper, and waits until it has connected. `buffer_bytes`: of memory for writes. 0, or -errno with a sentence.
  int start(const char *uri, uint64_t buffer_bytes, Staging, unsigned patience_s, Needs, char *why, unsigned capacity);
  /// In the child of a fork: of the parent's, nothing is used any more.
  void forget();
  /// Starts one of this process's own then; the server is waited for. 0 or -errno.
  int start_own(Staging);
  bool is_started() const { return control_ >= 0; }
  /// Whether the helper has ended. Cost: 1 us.
  bool ended() const;
  /// Starts another one in its place. All pieces are to be asked again.
  int start_again(Staging staging);

  uint64_t bytes() const { return bytes_; } ///< of the export
  uint64_t block() const { return block_; } ///< of the requests that the server likes best, bytes; 0: it does not say
  bool is_read_only() const { return read_only_; }
  int event() const { return answers_; } ///< readable when there are answers
  char *buffers() const { return reinterpret_cast<char *>(channel_) + kHeader; }
  uint64_t buffer_bytes() const { return buffer_bytes_; }
  unsigned losses() const { return channel_->losses.load(std::memory_order_relaxed); }
  unsigned returns() const { return channel_->returns.load(std::memory_order_relaxed); }

  /// A number for a piece; there are enough of them.
  uint32_t take() {
    const uint32_t piece = free_[--free_count_];
    taken_[piece] = true;
    return piece;
  }
  void give(uint32_t piece) {
    taken_[piece] = false;
    free_[free_count_++] = static_cast<uint16_t>(piece);
  }
  bool is_taken(uint32_t piece) const { return piece < NbdChannel::kPieces && taken_[piece]; }
  NbdPiece &piece(uint32_t number) { return channel_->piece[number]; }
  /// Where in the channel what is in its buffers is.
  uint64_t in_channel(const char *at) const { return static_cast<uint64_t>(at - reinterpret_cast<char *>(channel_)); }
  void ask(uint32_t piece);
  bool answer(NbdAnswer *a) { return channel_->answered.take(a); }

private:
  static constexpr uint64_t kHeader = (sizeof(NbdChannel) + 0xffff) & ~uint64_t{0xffff};
  const char *role() const { return needs_ == kMap ? "map" : "backing"; }
  int make_channel();
  int start_helper(Staging);
  int wait_until_ready(char *why, unsigned capacity);

  const char *uri_ = "";
  unsigned patience_s_ = 0;
  uint64_t buffer_bytes_ = 0, bytes_ = 0, block_ = 0;
  Needs needs_ = kBacking;
  bool read_only_ = false;
  NbdChannel *channel_ = nullptr;
  int memory_ = -1, control_ = -1, work_ = -1, answers_ = -1;
  uint16_t free_[NbdChannel::kPieces];
  bool taken_[NbdChannel::kPieces] = {};
  uint32_t free_count_ = 0;
};

} // namespace pagecast
