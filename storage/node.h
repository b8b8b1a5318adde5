// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An I/O node: the files of a directory, the storage cache before them, and the disk below it. The policy of the cache is
// core's; this gives it data, threads that wait, and a disk.
#pragma once
#include "core/sharing/storage_cache.h"
#include "storage/clients.h"
#include "storage/disk.h"
#include "storage/files.h"
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace pagecast::storage {

struct NodeOptions {
  std::string directory;
  uint64_t cache = 150u << 20; ///< bytes
  uint32_t block = 64u << 10;  ///< bytes: a power of two, and at least a page
  core::StoragePolicy policy = core::StoragePolicy::kAging;
  DiskTiming timing; ///< of the disk
  bool is_writable = false;
};

class Node {
public:
  Node() = default;
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;
  ~Node();

  /// Takes the memory and opens the directory; empty, or a sentence of what cannot be.
  std::string prepare(const NodeOptions &);
  /// Starts the disk's threads: after the process has forked for the last time.
  void start() { disk_.start(options_.timing, on_read, this); }

  Files &files() { return files_; }
  uint32_t client(const std::string &name);
  /// Waits for the data. 0 or -errno. `count` bytes from `offset` on are in the file.
  int read(File &file, void *buffer, uint32_t count, uint64_t offset, uint32_t client);
  /// As `read`, of bytes that go to the file and to its blocks in the cache. Blocks that are not there and of which only parts
  /// are written are read before. The file can be written to: see Files.
  int write(File &file, const void *buffer, uint32_t count, uint64_t offset, uint32_t client);
  /// What was written before is on the disk. 0 or -errno.
  int flush(File &file);
  bool is_writable() const { return options_.is_writable; }
  /// Returns at once; the file stays open until what was asked for has come.
  void prefetch(File &file, uint32_t count, uint64_t offset, uint32_t client);
  /// What all clients have done, as a JSON document. `is_final`: no one comes any more.
  std::string counts(bool is_final);

private:
  static constexpr unsigned kAtOnce = 64;    ///< blocks of one request that are pinned at a time, at most
  static constexpr unsigned kWaitRooms = 64; ///< waiting threads are woken by the block they wait for, nearly

  struct Held {
    uint64_t block; ///< of the file
    core::StorageCache::Lookup lookup;
    bool is_filled; ///< it is to be read, but all of it is about to be written
  };
  /// A read or write that is being served.
  struct Serving {
    explicit Serving(Node &node) : node(node) { ++node.serving_; }
    ~Serving() { --node.serving_; }
    Serving(const Serving &) = delete;
    Serving &operator=(const Serving &) = delete;
    Node &node;
  };
  /// Bytes of a file.
  struct Range {
    uint64_t from, to;
  };

  static void on_read(void *self, const Read &read, int64_t result);
  uint64_t name_of(const File &file, uint64_t block) const { return uint64_t(file.number) << 40 | block; }
  char *data(uint32_t frame) const { return data_ + uint64_t(frame) * options_.block; }
  uint32_t expected(const File &file, uint64_t block) const;
  Read fetch(File &file, uint64_t block, uint32_t frame);
  unsigned hold(File &file, uint64_t first, uint64_t last, Range written, uint32_t client, Held *held);
  void filled(const Held &held, int error);
  int wait_for(const Held *held, unsigned count);
  void let_go(const Held *held, unsigned count);

  NodeOptions options_;
  Files files_;
  Disk disk_;
  char *data_ = nullptr;
  std::unique_ptr<uint64_t[]> tables_;
  std::unique_ptr<File *[]> reading_; ///< of each frame that is coming: the file it comes from

  std::atomic<unsigned> serving_{0}; ///< reads and writes

  std::mutex mutex_; ///< of all below
  core::StorageCache cache_;
  Clients clients_;
  std::condition_variable arrived_[kWaitRooms], room_;
};

} // namespace pagecast::storage
