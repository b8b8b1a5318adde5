// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random loads, stores, hints, releases and discards by several threads, on regions of their own and on one that they
// share, over a disk that fails and dawdles: what is loaded is compared with a plain copy, and the pager's invariants
// are checked on the way.
//
//   PAGECAST_STRESS_SEED, PAGECAST_STRESS_OPS   which run, and how long: operations of all threads (`make stress`)
#include "tests/unit/runtime/pager/failing_disk.h"
#include "tests/unit/runtime/running_engine.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace pagecast;

namespace {

constexpr unsigned kThreads = 4, kLine = 64;
constexpr uint64_t kShared = 48u << 20, kOwn = 16u << 20;
std::atomic<bool> failed{false};

uint64_t from_environment(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, nullptr, 0) : otherwise;
}

/// A region with a plain copy of its contents. Of a shared one, each thread has every kThreads-th line for itself.
class Mirrored {
public:
  Mirrored(uint64_t bytes, unsigned owners) : bytes_(bytes), owners_(owners), region_(map(bytes)), copy_(new char[bytes]()) {
    EXPECT_EQ(engine.add(address(region_), bytes), 0);
  }
  ~Mirrored() {
    EXPECT_EQ(engine.remove(address(region_), bytes_), 0);
    munmap(region_, bytes_);
  }
  Mirrored(const Mirrored &) = delete;

  uint64_t pages() const { return bytes_ / os::page_size(); }
  uint64_t page_address(uint64_t page) const { return address(region_) + page * os::page_size(); }

  /// `at` and `length` are moved to the thread's own lines.
  void store(uint64_t at, uint64_t length, char value, unsigned thread) {
    for (uint64_t end = std::min(at + length, bytes_); at < end; at += kLine) {
      const uint64_t mine = place(at, thread);
      memset(region_ + mine, value, kLine);
      memset(copy_.get() + mine, value, kLine);
    }
  }
  bool same(uint64_t at, unsigned thread) const {
    const uint64_t mine = place(at, thread);
    return memcmp(region_ + mine, copy_.get() + mine, kLine) == 0;
  }
  bool same() const { return memcmp(region_, copy_.get(), bytes_) == 0; }
  int clear(uint64_t page, uint64_t pages) {
    memset(copy_.get() + page * os::page_size(), 0, pages * os::page_size());
    return engine.clear(page_address(page), pages * os::page_size());
  }

private:
  uint64_t place(uint64_t at, unsigned thread) const {
    const uint64_t line = at / kLine;
    return owners_ == 1 ? line * kLine : (line / owners_ * owners_ + thread) * kLine;
  }
  uint64_t bytes_;
  unsigned owners_;
  char *region_;
  std::unique_ptr<char[]> copy_;
};

/// One operation; false if something was wrong.
bool operate(Mirrored &m, bool shared, unsigned thread, std::mt19937_64 &random) {
  const uint64_t first = random() % m.pages(), n = 1 + random() % std::min<uint64_t>(64, m.pages() - first);
  const uint64_t at = first * os::page_size() + random() % os::page_size();
  const auto pages = static_cast<uint32_t>(n);
  const auto priority = static_cast<uint8_t>(random() % 8);
  switch (random() % 16) {
  case 0: engine.hint({m.page_address(first), pages, Hint::kFetch, 0, 0, 0, 0}); return true;
  case 1: engine.hint({m.page_address(first), pages, Hint::kFetchWrite, 0, 0, 0, 0}); return true;
  case 2:
  case 3: engine.hint({m.page_address(first), pages, Hint::kRelease, priority, 0, 0, 0}); return true;
  case 4: // slices hint as well; there is one thread of theirs
    if (thread == 0) engine.slice_hint({m.page_address(first), 1, random() % 2 ? Hint::kFetch : Hint::kFetchWrite, 0, 0, 0, 0});
    return true;
  case 5: return shared || random() % 64 || m.clear(first, n) == 0;
  case 6:
  case 7:
  case 8: m.store(at, 1 + random() % (3 * os::page_size()), static_cast<char>(random()), thread); return true;
  case 9:
  case 10:
  case 11: m.store(at, 1, static_cast<char>(random()), thread); return true;
  default: return m.same(at, thread);
  }
}

void work(Mirrored &shared, unsigned thread, uint64_t seed, uint64_t operations) {
  std::mt19937_64 random(seed * kThreads + thread);
  std::unique_ptr<Mirrored> own;
  for (uint64_t i = 0; i < operations && !failed; ++i) {
    auto expect = [&](bool good, const char *what) {
      EXPECT_TRUE(good) << what << ": thread " << thread << ", operation " << i;
      if (!good) failed = true;
    };
    if (i % 8192 == 0) own = std::make_unique<Mirrored>(kOwn + thread * (3u << 20), 1);
    const bool use_shared = random() % 3 == 0;
    expect(operate(use_shared ? shared : *own, use_shared, thread, random), "other contents");
    if (i % 8192 == 8191 || i + 1 == operations) expect(own->same(), "other contents in the thread's own region");
    const char *why = "";
    if (i % 1024 == thread * 256) {
      const bool valid = engine.is_valid(&why);
      expect(valid, why);
    }
  }
}

void stress(ReleasePolicy policy, uint64_t otherwise) {
  const uint64_t seed = from_environment("PAGECAST_STRESS_SEED", 1),
                 operations = from_environment("PAGECAST_STRESS_OPS", otherwise);
  printf("PAGECAST_STRESS_SEED=%llu PAGECAST_STRESS_OPS=%llu repeats this\n", static_cast<unsigned long long>(seed),
         static_cast<unsigned long long>(operations));
  // A refused write costs half a second: few of them.
  failing::at_random({.seed = static_cast<unsigned>(seed), .read = 50, .write = 20000, .reserve = 6, .late = 50});
  START_ENGINE(policy);
  {
    Mirrored shared(kShared, kThreads);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(work, std::ref(shared), t, seed, operations / kThreads);
    for (auto &t : threads) t.join();
    EXPECT_TRUE(shared.same());
    expect_valid();
  }
  expect_valid();
  EXPECT_LE(engine.statistics.peak_bytes, kBudget + kBudget / 50);
  EXPECT_EQ(engine.statistics.region_bytes, 0u);
  EXPECT_EQ(engine.statistics.disk_errors.lost_pages, 0u);
  EXPECT_GT(engine.statistics.disk_errors.read_errors, 0u);
  EXPECT_GT(engine.statistics.evicted_dirty, 0u);
}

} // namespace

TEST(PagerStress, Buffered) { stress(ReleasePolicy::kBuffered, 50000); }
TEST(PagerStress, Aggressive) { stress(ReleasePolicy::kAggressive, 20000); }
TEST(PagerStress, WithoutReleases) { stress(ReleasePolicy::kNone, 20000); }
