// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "storage/node.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace pagecast::storage {

using Found = core::StorageCache::Found;

Node::~Node() {
  disk_.stop();
  if (data_) munmap(data_, options_.cache);
}

std::string Node::prepare(const NodeOptions &options) {
  options_ = options;
  const uint64_t frames = options.cache / options.block;
  if (frames < 4) return "a cache has at least four blocks: give it more memory, or smaller blocks";
  if (frames >= core::kNoFrame)
    return "a cache has less than four thousand million blocks: give it less memory, or larger blocks";
  if (const int error = files_.start(options.directory.c_str(), options.is_writable))
    return options.directory + " cannot be opened: " + strerror(-error);
  void *data = mmap(nullptr, options.cache, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return "there is no memory for the cache: " + std::string(strerror(errno));
  data_ = static_cast<char *>(data);
  const auto count = uint32_t(frames);
  tables_ = std::make_unique<uint64_t[]>(core::StorageCache::bytes(count, kMostClients) / 8 + 1);
  reading_ = std::make_unique<File *[]>(count);
  // Prefetches that are under way never take more than half: the other half is what those in use were fetched for.
  cache_.start(tables_.get(), options.policy, count, kMostClients, count / 2, true);
  return "";
}

uint32_t Node::client(const std::string &name) {
  const std::lock_guard lock(mutex_);
  return clients_.number_of(name);
}

uint32_t Node::expected(const File &file, uint64_t block) const {
  return uint32_t(std::min<uint64_t>(options_.block, file.size - block * options_.block));
}

/// What the disk is to be asked for, for the frame to get its block. The file stays open until it has come.
Read Node::fetch(File &file, uint64_t block, uint32_t frame) {
  files_.use(&file);
  reading_[frame] = &file;
  return {file.fd, data(frame), options_.block, block * options_.block, frame};
}

/// A read has ended. The disk's thread.
void Node::on_read(void *self, const Read &read, int64_t result) {
  Node &node = *static_cast<Node *>(self);
  const auto frame = uint32_t(read.token);
  File *file = node.reading_[frame];
  const bool is_whole = result >= int64_t(node.expected(*file, read.offset / node.options_.block));
  {
    const std::lock_guard lock(node.mutex_);
    if (is_whole) node.cache_.arrived(frame);
    else node.cache_.failed(frame);
  }
  node.arrived_[frame % kWaitRooms].notify_all();
  node.room_.notify_all();
  node.files_.close(file);
}

/// Pins blocks from `first` to `last`, as many as there are frames for but one at least, and has them read, but for those that
/// are wholly in `written`. Requests share half of the cache: if each pinned what it could, large ones would leave no frame for
/// others, nor for prefetches, and what was prefetched would go before it is read.
unsigned Node::hold(File &file, uint64_t first, uint64_t last, Range written, uint32_t client, Held *held) {
  const unsigned share = cache_.frames() / 2 / std::max(2u, serving_.load(std::memory_order_relaxed));
  const unsigned most = std::clamp(share, 1u, kAtOnce);
  unsigned count = 0;
  std::unique_lock lock(mutex_);
  for (uint64_t block = first; block <= last && count < most;) {
    const core::StorageCache::Lookup lookup = cache_.reference(name_of(file, block), client);
    if (lookup.found == Found::kFull) {
      if (count) break; // what is held is let go before anything is waited for
      room_.wait(lock);
      continue;
    }
    const uint64_t start = block * options_.block;
    const bool is_filled = lookup.found == Found::kFetch && written.from <= start && start + expected(file, block) <= written.to;
    held[count++] = {block++, lookup, is_filled};
  }
  lock.unlock();
  Read reads[kAtOnce];
  unsigned wanted = 0;
  for (unsigned i = 0; i < count; ++i)
    if (held[i].lookup.found == Found::kFetch && !held[i].is_filled)
      reads[wanted++] = fetch(file, held[i].block, held[i].lookup.frame);
    else if (held[i].lookup.found == Found::kComing) disk_.hurry(held[i].lookup.frame);
  disk_.ask(reads, wanted, true);
  return count;
}

int Node::wait_for(const Held *held, unsigned count) {
  std::unique_lock lock(mutex_);
  int error = 0;
  for (unsigned i = 0; i < count; ++i) {
    const uint32_t frame = held[i].lookup.frame;
    while (cache_.is_coming(frame) && !held[i].is_filled) arrived_[frame % kWaitRooms].wait(lock);
    if (cache_.has_failed(frame)) error = -EIO;
  }
  return error;
}

void Node::let_go(const Held *held, unsigned count) {
  {
    const std::lock_guard lock(mutex_);
    for (unsigned i = 0; i < count; ++i) cache_.unpin(held[i].lookup.frame);
  }
  room_.notify_all();
}

int Node::read(File &file, void *buffer, uint32_t count, uint64_t offset, uint32_t client) {
  const Serving serving(*this);
  const uint64_t end = offset + count, last = (end - 1) / options_.block;
  Held held[kAtOnce];
  for (uint64_t first = offset / options_.block; count && first <= last;) {
    const unsigned n = hold(file, first, last, {0, 0}, client, held);
    const int error = wait_for(held, n);
    for (unsigned i = 0; i < n && !error; ++i) {
      const uint64_t start = held[i].block * options_.block;
      const uint64_t from = std::max(start, offset), to = std::min(start + options_.block, end);
      std::memcpy(static_cast<char *>(buffer) + (from - offset), data(held[i].lookup.frame) + (from - start), to - from);
    }
    let_go(held, n);
    if (error) return error;
    first += n;
  }
  return 0;
}

/// A block that was to be written whole has been, or could not be.
void Node::filled(const Held &held, int error) {
  const uint32_t frame = held.lookup.frame;
  {
    const std::lock_guard lock(mutex_);
    if (error) cache_.failed(frame);
    else cache_.arrived(frame);
  }
  arrived_[frame % kWaitRooms].notify_all();
}

/// What is held goes into the cache, and then into the file in one request: the file is never behind what is read of it.
int Node::write(File &file, const void *buffer, uint32_t count, uint64_t offset, uint32_t client) {
  const Serving serving(*this);
  const auto *bytes = static_cast<const char *>(buffer);
  const uint64_t end = offset + count, last = (end - 1) / options_.block;
  Held held[kAtOnce];
  for (uint64_t first = offset / options_.block; count && first <= last;) {
    const unsigned n = hold(file, first, last, {offset, end}, client, held);
    int error = wait_for(held, n);
    const Range all = {std::max(first * options_.block, offset), std::min((first + n) * options_.block, end)};
    for (unsigned i = 0; i < n && !error; ++i) {
      const uint64_t start = held[i].block * options_.block, from = std::max(start, all.from),
                     to = std::min(start + options_.block, all.to);
      std::memcpy(data(held[i].lookup.frame) + (from - start), bytes + (from - offset), to - from);
    }
    if (!error) error = disk_.write(file.writing, bytes + (all.from - offset), uint32_t(all.to - all.from), all.from);
    // A block that is to be filled must be, or fail: others may wait for it.
    for (unsigned i = 0; i < n; ++i)
      if (held[i].is_filled) filled(held[i], error);
    let_go(held, n);
    if (error) return error;
    first += n;
  }
  return 0;
}

int Node::flush(File &file) { return file.writing >= 0 && fdatasync(file.writing) != 0 ? -errno : 0; }

void Node::prefetch(File &file, uint32_t count, uint64_t offset, uint32_t client) {
  if (count == 0) return;
  const uint64_t last = (offset + count - 1) / options_.block;
  for (uint64_t block = offset / options_.block; block <= last;) {
    Read reads[kAtOnce];
    unsigned wanted = 0;
    {
      const std::lock_guard lock(mutex_);
      for (unsigned i = 0; i < kAtOnce && block <= last; ++i, ++block)
        if (const auto [found, frame] = cache_.prefetch(name_of(file, block), client); found == Found::kFetch)
          reads[wanted++] = fetch(file, block, frame);
    }
    disk_.ask(reads, wanted, false);
  }
}

std::string Node::counts(bool is_final) {
  const std::lock_guard lock(mutex_);
  core::ClientCounts sum;
  std::string clients;
  for (uint32_t c = 0; c < clients_.count(); ++c) {
    const core::ClientCounts counts = is_final ? cache_.final_counts(c) : cache_.counts(c);
    sum += counts;
    clients +=
        std::string(c ? "," : "") + "\n    {\"name\": " + json_string(clients_.name(c)) + ", " + json_members(counts) + "}";
  }
  return "{\"version\": 1, \"final\": " + std::string(is_final ? "true" : "false") +
         ", \"policy\": " + (options_.policy == core::StoragePolicy::kAging ? "\"aging\"" : "\"2q\"") +
         ",\n  \"cache_bytes\": " + std::to_string(options_.cache) + ", \"block_bytes\": " + std::to_string(options_.block) +
         ", \"blocks\": " + std::to_string(cache_.frames()) + ", \"blocks_used\": " + std::to_string(cache_.used()) +
         ",\n  \"disk\": {\"reads\": " + std::to_string(disk_.reads()) + ", \"bytes\": " + std::to_string(disk_.bytes()) +
         ", \"writes\": " + std::to_string(disk_.writes()) + ", \"latency_us\": " + std::to_string(options_.timing.latency) +
         ", \"rate\": " + std::to_string(options_.timing.rate) + "},\n  \"all\": {" + json_members(sum) + "},\n  \"clients\": [" +
         clients + "]}\n";
}

} // namespace pagecast::storage
