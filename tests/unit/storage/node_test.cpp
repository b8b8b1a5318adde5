// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An I/O node under threads that read and prefetch more than its cache holds. The sanitizers run it, too.
#include "storage/node.h"
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

namespace pagecast::storage::test {
namespace {

namespace fs = std::filesystem;
constexpr uint32_t kBlock = 4096;

/// A directory with a file of `blocks` blocks and a bit, whose bytes tell where they are.
struct Place {
  explicit Place(unsigned blocks) : path("/var/tmp/pagecast-node-XXXXXX"), bytes(blocks * kBlock + 123) {
    EXPECT_TRUE(mkdtemp(path.data()));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = char(i * 7 + i / kBlock);
    std::ofstream(path + "/file", std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  }
  ~Place() { fs::remove_all(path); }

  NodeOptions options(unsigned blocks, core::StoragePolicy policy, uint64_t latency) const {
    return {path, uint64_t(blocks) * kBlock, kBlock, policy, {latency, 0}};
  }
  std::string path;
  std::vector<char> bytes;
};

struct Case {
  core::StoragePolicy policy;
  uint64_t latency; ///< microseconds: with one, a thread reads, and without, io_uring
};

class NodeUnderThreads : public testing::TestWithParam<Case> {};

TEST_P(NodeUnderThreads, GivesEachItsBytes) {
  const Place place(60);
  Node node;
  ASSERT_EQ(node.prepare(place.options(9, GetParam().policy, GetParam().latency)), "");
  node.start();
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<char> buffer(place.bytes.size());
      File *file = nullptr;
      if (node.files().open("file", &file) != 0) return void(++wrong);
      const uint32_t client = node.client(std::to_string(t % 3));
      for (int i = 0; i < 150; ++i) {
        const uint32_t from = random() % uint32_t(place.bytes.size());
        const uint32_t count = std::min(uint32_t(random() % (12 * kBlock)) + 1, uint32_t(place.bytes.size()) - from);
        if (i % 3 == 0) node.prefetch(*file, count, from, client);
        else if (node.read(*file, buffer.data(), count, from, client) != 0 || memcmp(buffer.data(), &place.bytes[from], count))
          ++wrong;
      }
      node.files().close(file);
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_NE(node.counts(true).find("\"name\": \"2\""), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Nodes, NodeUnderThreads,
                         testing::Values(Case{core::StoragePolicy::kAging, 0}, Case{core::StoragePolicy::kTwoQueues, 0},
                                         Case{core::StoragePolicy::kAging, 20}, Case{core::StoragePolicy::kTwoQueues, 20}));

TEST(Node, EndsWhileReadsWait) {
  const Place place(60);
  Node node;
  ASSERT_EQ(node.prepare(place.options(40, core::StoragePolicy::kAging, 20'000)), "");
  node.start();
  File *file = nullptr;
  ASSERT_EQ(node.files().open("file", &file), 0);
  node.prefetch(*file, 15 * kBlock, 0, node.client("a"));
  node.files().close(file);
}

TEST(Node, WhatIsPrefetchedBeyondHalfTheCacheIsDropped) {
  const Place place(60);
  Node node;
  ASSERT_EQ(node.prepare(place.options(10, core::StoragePolicy::kAging, 500'000)), "");
  node.start();
  File *file = nullptr;
  ASSERT_EQ(node.files().open("file", &file), 0);
  node.prefetch(*file, 20 * kBlock, 0, node.client("a"));
  EXPECT_NE(node.counts(false).find("\"prefetches\": 5, \"dropped\": 15"), std::string::npos) << node.counts(false);
  node.files().close(file);
}

TEST(Node, BlocksThatFollowEachOtherAreOneRequest) {
  const Place place(60);
  Node node;
  ASSERT_EQ(node.prepare(place.options(80, core::StoragePolicy::kAging, 100)), "");
  node.start();
  File *file = nullptr;
  ASSERT_EQ(node.files().open("file", &file), 0);
  std::vector<char> buffer(16 * kBlock);
  node.prefetch(*file, 16 * kBlock, 0, node.client("a"));
  EXPECT_EQ(node.read(*file, buffer.data(), 16 * kBlock, 0, node.client("a")), 0);
  EXPECT_NE(node.counts(false).find("\"disk\": {\"reads\": 1,"), std::string::npos) << node.counts(false);
  EXPECT_EQ(memcmp(buffer.data(), place.bytes.data(), buffer.size()), 0);
  EXPECT_EQ(node.read(*file, buffer.data(), 16 * kBlock, 30 * kBlock, node.client("a")), 0);
  EXPECT_NE(node.counts(false).find("\"disk\": {\"reads\": 2,"), std::string::npos) << node.counts(false);
  EXPECT_EQ(memcmp(buffer.data(), &place.bytes[30 * kBlock], buffer.size()), 0);
  node.files().close(file);
}

TEST(Node, WritesThatWaitBesideEachOtherAreWrittenWhole) {
  const Place place(60);
  Node node;
  NodeOptions options = place.options(80, core::StoragePolicy::kAging, 2000);
  options.is_writable = true;
  ASSERT_EQ(node.prepare(options), "");
  node.start();
  std::vector<char> written(16 * kBlock);
  for (size_t i = 0; i < written.size(); ++i) written[i] = char(i / 3);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      File *file = nullptr;
      ASSERT_EQ(node.files().open("file", &file), 0);
      ASSERT_EQ(node.files().write_to("file", file), 0);
      EXPECT_EQ(node.write(*file, &written[t * kBlock], kBlock, t * kBlock, node.client("a")), 0);
      node.files().close(file);
    });
  for (std::thread &thread : threads) thread.join();
  std::vector<char> there(written.size());
  std::ifstream(place.path + "/file", std::ios::binary).read(there.data(), std::streamsize(there.size()));
  EXPECT_EQ(there, written);
}

TEST(Node, LargeReadsLeaveRoomForPrefetches) {
  const Place place(60);
  Node node;
  ASSERT_EQ(node.prepare(place.options(16, core::StoragePolicy::kAging, 20000)), "");
  node.start();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<char> buffer(8 * kBlock);
      File *file = nullptr;
      ASSERT_EQ(node.files().open("file", &file), 0);
      EXPECT_EQ(node.read(*file, buffer.data(), 8 * kBlock, t * 8 * kBlock, node.client("reader" + std::to_string(t))), 0);
      node.files().close(file);
    });
  File *file = nullptr;
  ASSERT_EQ(node.files().open("file", &file), 0);
  const auto has = [&](const char *words) { return node.counts(false).find(words) != std::string::npos; };
  for (const char *reader : {"reader0", "reader1", "reader2", "reader3"})
    while (!has(reader)) std::this_thread::yield();
  while (has("\"misses\": 0,")) std::this_thread::yield(); // all have what they can of the cache
  node.prefetch(*file, kBlock, 50 * kBlock, node.client("far"));
  EXPECT_TRUE(has("\"prefetches\": 1, \"dropped\": 0")) << node.counts(false);
  node.files().close(file);
  for (std::thread &thread : threads) thread.join();
}

TEST(Node, RefusalsAreSentences) {
  const Place place(1);
  Node tiny, lost;
  EXPECT_NE(tiny.prepare(place.options(3, core::StoragePolicy::kAging, 0)).find("at least four blocks"), std::string::npos);
  NodeOptions nowhere = place.options(8, core::StoragePolicy::kAging, 0);
  nowhere.directory = "/nowhere";
  EXPECT_NE(lost.prepare(nowhere).find("/nowhere cannot be opened"), std::string::npos);
}

TEST(Clients, NamesBeyondTheMostAreCountedTogether) {
  Clients clients;
  for (uint32_t i = 0; i < kMostClients + 10; ++i) EXPECT_EQ(clients.number_of(std::to_string(i)), std::min(i, kMostClients - 1));
  EXPECT_EQ(clients.count(), kMostClients);
  EXPECT_EQ(clients.name(kMostClients - 1), kOthers);
  EXPECT_EQ(clients.number_of("7"), 7u);
  EXPECT_EQ(json_string("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
}

TEST(Files, ANumberIsOfAFileThatHasNotChanged) {
  const Place place(2);
  Files files;
  ASSERT_EQ(files.start(place.path.c_str()), 0);
  File *first = nullptr, *again = nullptr, *changed = nullptr;
  ASSERT_EQ(files.open("file", &first), 0);
  fs::create_symlink("file", place.path + "/other name");
  ASSERT_EQ(files.open("other name", &again), 0);
  EXPECT_EQ(first, again);
  std::ofstream(place.path + "/file", std::ios::app) << "more";
  ASSERT_EQ(files.open("file", &changed), 0);
  EXPECT_NE(first->number, changed->number);
  EXPECT_EQ(files.open("../etc/passwd", &again), -EXDEV);
  for (File *file : {first, first, changed}) files.close(file);
  EXPECT_EQ(first->fd, -1);
}

} // namespace
} // namespace pagecast::storage::test
