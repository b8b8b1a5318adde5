// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/memory_map.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

/// A file that keeps its name, which the kernel's list of mappings tells. It lies in the build tree, where the test runs, unless that
/// name is too long to be listed: a test that is killed leaves the file, and /tmp is everybody's.
struct TestFile {
  TestFile() {
    path = std::filesystem::current_path() / "mapped-XXXXXX";
    if (path.size() >= sizeof SharedOrder::path) path = "/tmp/pagecast-mapped-XXXXXX";
    number = mkstemp(path.data());
    ok = number >= 0 && ftruncate(number, 1 << 20) == 0;
  }
  ~TestFile() {
    close(number);
    unlink(path.c_str());
  }
  void *map(int protection, int flags, size_t bytes, long offset) const {
    return mmap(nullptr, bytes, protection, flags, number, offset);
  }
  std::string path;
  int number;
  bool ok;
};

/// What is written to, small or executable is no input; programs and libraries are none, whichever part of them it is.
TEST(MemoryMap, ListsFilesThatAreReadThroughMappings) {
  const TestFile file;
  ASSERT_TRUE(file.ok);
  constexpr size_t kBytes = kLeastMapped * 2;
  void *const own = file.map(PROT_READ, MAP_PRIVATE, kBytes, 4096);
  void *const shared = file.map(PROT_READ, MAP_SHARED, kBytes, 0);
  void *const others[] = {file.map(PROT_READ | PROT_WRITE, MAP_PRIVATE, kBytes, 0), file.map(PROT_NONE, MAP_PRIVATE, kBytes, 0)};
  constexpr size_t kSmall = kLeastMapped - 4096;
  void *const small = file.map(PROT_READ, MAP_PRIVATE, kSmall, 0);
  const auto map = std::make_unique<MemoryMap>();
  ASSERT_TRUE(map->read(getpid()));
  SharedOrder found[kMaxMapped];
  const unsigned count = map->list_mapped(found, kMaxMapped);
  unsigned of_file = 0;
  for (unsigned i = 0; i < count; i++) {
    EXPECT_EQ(nullptr, strstr(found[i].path, ".so")) << found[i].path;
    if (found[i].path != file.path) continue;
    of_file++;
    const bool is_own = found[i].begin == reinterpret_cast<uint64_t>(own);
    EXPECT_TRUE(is_own || found[i].begin == reinterpret_cast<uint64_t>(shared));
    EXPECT_EQ(kBytes, found[i].end - found[i].begin);
    EXPECT_EQ(is_own ? 4096u : 0u, found[i].offset);
  }
  EXPECT_EQ(2u, of_file);
  EXPECT_EQ(count ? 1u : 0u, map->list_mapped(found, 1));
  for (void *const other : others) munmap(other, kBytes);
  munmap(small, kSmall); // what stands behind it may be a library's
  munmap(own, kBytes);
  munmap(shared, kBytes);
}

} // namespace
} // namespace pagecast::speculate
