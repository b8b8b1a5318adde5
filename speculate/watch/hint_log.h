// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has been hinted, so that a wait of the original can be judged: a wait for something hinted is on track.
//
// A table of fingerprints by hash. It forgets what collides, and it is right about what it has but for one in four billion.
// Threads: any number may add and ask; a new generation is begun by one.
#pragma once
#include <cstdint>

namespace pagecast::speculate {

/// Is told of hints and of what comes of them, in bytes of files. From any thread.
class HintObserver {
public:
  virtual void hinted(uint64_t inode, uint64_t offset, uint64_t length) = 0;
  /// It is being fetched; `done`: it has been.
  virtual void fetching(uint64_t inode, uint64_t offset, uint64_t length, bool done) = 0;

protected:
  ~HintObserver() = default;
};

class HintLog {
public:
  static constexpr uint64_t kFingerprints = 1u << 20,
                            kFewFingerprints = 1u << 16; ///< numbers; for small control groups the latter
  /// `fingerprints`: zeroed memory for so many numbers, a power of two.
  void attach(uint32_t *fingerprints, uint64_t count) {
    fingerprints_ = fingerprints;
    mask_ = count - 1;
  }

  /// Who is told of all that is hinted from now on; nullptr = nobody.
  void observe(HintObserver *observer) { observer_ = observer; }
  HintObserver *observer() const { return observer_; }

  /// Forgets all.
  void clear() { __atomic_fetch_add(&generation_, 1, __ATOMIC_RELAXED); }
  /// Bytes [offset, offset + length) of a file; what is beyond kMostLength is not noted.
  void add(uint64_t inode, uint64_t offset, uint64_t length);
  bool has(uint64_t inode, uint64_t offset) const { return has_key(page_key(inode, offset >> kPageShift)); }
  void add_path(const char *path) { add_key(path_key(path)); }
  bool has_path(const char *path) const { return has_key(path_key(path)); }

  static constexpr uint64_t kMostLength = 4u << 20; ///< bytes
  static constexpr unsigned kPageShift = 12;

private:
  static uint64_t mix(uint64_t h);
  uint64_t page_key(uint64_t inode, uint64_t page) const { return mix(inode * 0x9e3779b97f4a7c15u ^ page * 0xc2b2ae3d27d4eb4fu); }
  static uint64_t path_key(const char *path);
  uint32_t fingerprint(uint64_t key) const;
  void add_key(uint64_t key);
  bool has_key(uint64_t key) const;

  uint32_t *fingerprints_ = nullptr;
  uint64_t mask_ = 0;
  uint32_t generation_ = 1;
  HintObserver *observer_ = nullptr;
};

} // namespace pagecast::speculate
