// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges that mprotect and mlock have split into several of the kernel's mappings.
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_memory_file.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kPages = 32;

/// Watched memory in four mappings: writable, none, read-only (one page), writable.
class SplitRange : public testing::Test {
protected:
  void SetUp() override {
    const os::Support support = os::find_support();
    if (support.missing) GTEST_SKIP() << support.missing;
    fd_ = os::fault_open();
    ASSERT_GE(fd_, 0);
    memory_ = static_cast<char *>(os::map_memory(bytes_, false));
    source_ = static_cast<char *>(os::map_memory(bytes_, true));
    ASSERT_TRUE(memory_ && source_);
    for (uint64_t i = 0; i < kPages; ++i) memset(source_ + i * page_, static_cast<int>(i + 1), page_);
    ASSERT_EQ(os::fault_watch(fd_, address(0), bytes_), 0);
    ASSERT_EQ(mprotect(memory_ + 9 * page_, 10 * page_, PROT_NONE), 0);
    ASSERT_EQ(mprotect(memory_ + 19 * page_, page_, PROT_READ), 0);
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
    if (memory_) os::unmap(memory_, bytes_);
    if (source_) os::unmap(source_, bytes_);
  }
  uint64_t address(uint64_t page) const { return reinterpret_cast<uint64_t>(memory_) + page * page_; }
  unsigned there() const {
    uint8_t out[kPages];
    EXPECT_EQ(os::populated(address(0), kPages, out), 0);
    unsigned n = 0;
    for (const uint8_t page : out) n += page;
    return n;
  }

  const uint64_t page_ = os::page_size(), bytes_ = kPages * os::page_size();
  int fd_ = -1;
  char *memory_ = nullptr, *source_ = nullptr;
};

} // namespace

TEST_F(SplitRange, IsFilledByOneCopy) {
  EXPECT_EQ(os::fault_copy(fd_, address(0), source_, bytes_, true), static_cast<int64_t>(bytes_));
  EXPECT_EQ(os::fault_protect(fd_, address(0), bytes_, false), 0);
  ASSERT_EQ(mprotect(memory_, bytes_, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(memcmp(memory_, source_, bytes_), 0);
  memset(memory_, 1, bytes_); // nothing is protected any more: it would wait for ever
}

TEST_F(SplitRange, IsFilledUpToWhatCannotBe) {
  ASSERT_EQ(os::unmap(memory_ + 21 * page_, page_), 0);
  EXPECT_EQ(os::fault_copy(fd_, address(0), source_, bytes_, false), static_cast<int64_t>(21 * page_));
  EXPECT_EQ(os::fault_copy(fd_, address(21), source_, 11 * page_, false), -ENOENT);
  EXPECT_EQ(os::fault_copy(fd_, address(20), source_, page_, false), -EEXIST);
  EXPECT_EQ(os::fault_copy(fd_, address(22), source_, 10 * page_, true), static_cast<int64_t>(10 * page_));
  os::fault_protect(fd_, address(0), bytes_, false); // 0 or -ENOENT: kernels differ in what they call a failure
  memset(memory_ + 22 * page_, 1, 10 * page_);
}

TEST_F(SplitRange, IsDiscardedWhereverItIsLocked) {
  ASSERT_EQ(os::fault_copy(fd_, address(0), source_, bytes_, false), static_cast<int64_t>(bytes_));
  if (mlock(memory_ + page_, page_)) GTEST_SKIP() << "memory cannot be locked here: " << strerror(errno);
  const iovec ranges[] = {{memory_, 4 * page_}, {memory_ + 8 * page_, 12 * page_}};
  const int error = os::discard(ranges, 2);
  if (error == -EINVAL) GTEST_SKIP() << "this kernel cannot discard locked memory (Linux 5.18 or later)";
  EXPECT_EQ(error, 0);
  EXPECT_EQ(there(), kPages - 16);
}

TEST_F(SplitRange, CanBeReadWhereTheProgramCannot) {
  ASSERT_EQ(os::fault_copy(fd_, address(0), source_, bytes_, false), static_cast<int64_t>(bytes_));
  char *copy = static_cast<char *>(os::map_memory(bytes_, true));
  const int error = os::copy_protected_memory(copy, address(0), bytes_);
  if (error == -EIO || error == -EACCES) GTEST_SKIP() << "this kernel does not let a process read its own unreadable memory";
  EXPECT_EQ(error, 0);
  EXPECT_EQ(memcmp(copy, source_, bytes_), 0);
  os::unmap(copy, bytes_);
}

namespace {

/// `count` parts of `bytes` each, from every second place of `from`, backwards; whether they were copied, and arrived.
bool parts_arrive(const std::vector<char> &from, unsigned count, size_t bytes) {
  std::vector<char> to(count * bytes, 0);
  std::vector<iovec> into, source;
  for (unsigned i = 0; i < count; ++i) {
    into.push_back({to.data() + i * bytes, bytes});
    source.push_back({const_cast<char *>(from.data()) + 2 * (count - 1 - i) * bytes, bytes});
  }
  if (!os::copy_parts(into.data(), source.data(), count)) return false;
  for (unsigned i = 0; i < count; ++i)
    if (memcmp(into[i].iov_base, source[i].iov_base, bytes) != 0) return false;
  return true;
}

/// Open files in memory that have the name.
unsigned files_named(const char *name) {
  unsigned count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    char to[256] = {};
    if (readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), to, sizeof to - 1) > 0) count += strstr(to, name) != nullptr;
  }
  return count;
}

} // namespace

TEST(CopiedParts, ArriveInTheirPlaces) {
  std::vector<char> from(4u << 20);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 2654435761u >> 13);
  EXPECT_TRUE(parts_arrive(from, 1, 1));
  EXPECT_TRUE(parts_arrive(from, os::kCopied, 16));
  EXPECT_TRUE(parts_arrive(from, os::kCopied, 512));
  EXPECT_TRUE(parts_arrive(from, os::kCopied, 5000)) << "more than are copied at a time";
}

TEST_F(SplitRange, HasNoPartsWhereItCannotBeRead) {
  ASSERT_EQ(os::fault_copy(fd_, address(0), source_, bytes_, true), static_cast<int64_t>(bytes_));
  char to[2][16];
  const iovec into[2] = {{to[0], 16}, {to[1], 16}};
  const iovec all[2] = {{memory_ + 10, 16}, {memory_ + 19 * page_ + 10, 16}}, some[2] = {all[0], {memory_ + 9 * page_, 16}};
  EXPECT_TRUE(os::copy_parts(into, all, 2));
  EXPECT_EQ(to[0][15], 1);
  EXPECT_EQ(to[1][15], 20);
  EXPECT_FALSE(os::copy_parts(into, some, 2));
}

TEST(CopiedParts, AreNotSharedWithChildren) {
  const std::vector<char> from(4096, 'a');
  ASSERT_TRUE(parts_arrive(from, 16, 16));
  ASSERT_EQ(files_named("pagecast-between"), 1u) << "else this test looks for what is not there";
  const pid_t child = fork();
  if (child == 0) {
    os::forked();
    const bool apart = files_named("pagecast-between") == 0;
    _exit(apart && parts_arrive(from, 16, 16) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(MemoryWatch, SeesTheMachineFirst) {
  os::MemoryWatch watch;
  core::Pool pools[core::kMostPools];
  EXPECT_EQ(watch.look(pools), 0u); // not open: nothing is known
  watch.open();
  const unsigned n = watch.look(pools);
  ASSERT_GT(n, 0u);
  ASSERT_LE(n, core::kMostPools);
  EXPECT_TRUE(pools[0].machine);
  EXPECT_GT(pools[0].free, 0u);
  EXPECT_LT(pools[0].free, pools[0].size);
  for (unsigned i = 1; i < n; ++i) EXPECT_LE(pools[i].free, pools[i].size);
  EXPECT_EQ(watch.look(pools), n);
  watch.close();
  EXPECT_EQ(watch.look(pools), 0u);
}

/// What a copy of this process, after `prepare`, finds that it may use; 0: that could not be prepared.
template <class Prepare> int processors_after(Prepare prepare) {
  const pid_t child = fork();
  if (child == 0) {
    os::Processors processors;
    processors.open();
    _exit(prepare() ? static_cast<int>(processors.usable(1)) : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(Processors, RunningThreadsAreCountedWithTheCaller) {
  os::Processors processors;
  EXPECT_EQ(processors.running(), 0u) << "not open";
  processors.open();
  EXPECT_GE(processors.running(), 1u);
}

TEST(Processors, AreThoseOfTheMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  const int all = processors_after([] { return true; });
  EXPECT_TRUE(all == CPU_COUNT(&mask) || all == 1) << "1 where there is a quota";
  EXPECT_EQ(processors_after([&] {
              for (int i = 0, kept = 0; i < CPU_SETSIZE; ++i)
                if (CPU_ISSET(i, &mask) && kept++) CPU_CLR(i, &mask);
              return sched_setaffinity(0, sizeof mask, &mask) == 0;
            }),
            1);
}

TEST(Processors, AreNoneToSpareWhereThereIsAQuota) {
  const bool v2 = !std::filesystem::exists("/sys/fs/cgroup/cpu");
  const std::filesystem::path group =
      (v2 ? "/sys/fs/cgroup/" : "/sys/fs/cgroup/cpu/") + ("pagecast-test." + std::to_string(getpid()));
  auto write = [](const std::filesystem::path &file, const std::string &text) {
    return bool(std::ofstream(file) << text << std::flush);
  };
  std::error_code error;
  if (!std::filesystem::create_directory(group, error)) GTEST_SKIP() << "no control group can be made";
  // More than there are: that it is limited at all is what counts.
  const bool limited = v2 ? write(group / "cpu.max", "800000 100000") : write(group / "cpu.cfs_quota_us", "800000");
  const int processors = limited ? processors_after([&] { return write(group / "cgroup.procs", std::to_string(getpid())); }) : 0;
  std::filesystem::remove(group, error);
  if (processors == 0) GTEST_SKIP() << "no quota can be set";
  EXPECT_EQ(processors, 1);
}

TEST(Code, IsReadInPieces) {
  constexpr uint64_t kBytes = 8 * os::kCodePiece;
  char name[] = "/tmp/pagecast-code-XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  unlink(name);
  ASSERT_EQ(ftruncate(fd, kBytes), 0);
  const auto map = [&](int protection) {
    return reinterpret_cast<uint64_t>(mmap(nullptr, kBytes, protection, MAP_PRIVATE, fd, 0));
  };
  const uint64_t code = map(PROT_READ | PROT_EXEC), stored = map(PROT_READ | PROT_WRITE);
  const auto parts = [&](uint64_t at) {
    os::Mapping m[32];
    return os::mappings(at, at + kBytes, m, 32);
  };
  EXPECT_EQ(parts(code), 1u);
  EXPECT_GE(os::read_code_in_pieces(), 1u);
  EXPECT_EQ(parts(code), code % os::kCodePiece ? 9u : 8u);
  EXPECT_EQ(parts(stored), 1u);
  EXPECT_EQ(os::read_code_in_pieces(), 0u) << "they are in pieces already";
  munmap(reinterpret_cast<void *>(code), kBytes);
  munmap(reinterpret_cast<void *>(stored), kBytes);
  close(fd);
}

TEST(MemoryWatch, OwnMemoryIsCounted) {
  const uint64_t before = os::own_anonymous_bytes(), bytes = 64u << 20;
  auto *memory = static_cast<char *>(os::map_memory(bytes, true));
  ASSERT_TRUE(memory);
  EXPECT_GE(os::own_anonymous_bytes(), before + bytes / 2);
  os::unmap(memory, bytes);
  EXPECT_LT(os::own_anonymous_bytes(), before + bytes / 2);
}

// What kernels before 6.6 do for pages that cannot be read. In a process of its own: SIGBUS is what is wanted.
TEST_F(SplitRange, IsPoisonedByAMappingWhereTheKernelCannot) {
  ASSERT_EQ(os::fault_poison_by_mapping(fd_, address(2), 2 * page_), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], memory_ + 3 * page_, 1), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EXIT((void)*const_cast<volatile char *>(memory_ + 2 * page_), testing::KilledBySignal(SIGBUS), "");
  EXPECT_EQ(os::fault_copy(fd_, address(2), source_, page_, false), -ENOENT);
  ASSERT_EQ(os::fault_heal(fd_, address(2), 2 * page_), 0);
  EXPECT_EQ(os::fault_copy(fd_, address(0), source_, bytes_, false), static_cast<int64_t>(bytes_));
  EXPECT_EQ(memory_[2 * page_], 3);
  EXPECT_EQ(memory_[3 * page_], 4);
}

TEST(Faults, SayWhereInThePageTheyAreAndOfWhichThread) {
  const os::Support support = os::find_support();
  if (support.missing) GTEST_SKIP() << support.missing;
  const int fd = os::fault_open();
  ASSERT_GE(fd, 0);
  char *memory = static_cast<char *>(os::map_memory(os::page_size(), false));
  ASSERT_NE(memory, nullptr);
  const auto page = reinterpret_cast<uint64_t>(memory);
  ASSERT_EQ(os::fault_watch(fd, page, os::page_size()), 0);
  std::atomic<uint64_t> number{0}, cpu_ns{0};
  std::thread reader([&, memory] {
    number = static_cast<uint64_t>(os::thread_id());
    EXPECT_EQ(*static_cast<volatile char *>(memory + 1000), 0);
    cpu_ns = os::cpu_ns_of(number);
  });
  os::Fault fault{};
  while (os::fault_read(fd, &fault, 1) == 0) std::this_thread::yield();
  EXPECT_EQ(os::fault_unwatch(fd, page, os::page_size()), 0); // which wakes it
  reader.join();
  EXPECT_EQ(fault.address, page);
  EXPECT_TRUE(fault.place == page + 1000 || fault.place == page) << "Linux before 5.18 tells the page";
  EXPECT_FALSE(fault.write || fault.protect);
  EXPECT_EQ(fault.thread, number);
  EXPECT_GT(cpu_ns, 0u);
  EXPECT_EQ(os::cpu_ns_of(number), 0u) << "it has ended";
  os::unmap(memory, os::page_size());
  close(fd);
}

TEST(OsBuffer, IsThereBeginsWithALargePageAndLeavesNothingAround) {
  for (const size_t bytes : {os::page_size(), os::kLargePage, os::kLargePage + 3 * os::page_size()}) {
    auto *buffer = static_cast<unsigned char *>(os::map_buffer(bytes));
    ASSERT_NE(buffer, nullptr);
    const auto address = reinterpret_cast<uint64_t>(buffer);
    EXPECT_EQ(address % (bytes < os::kLargePage ? os::page_size() : os::kLargePage), 0u);
    std::vector<uint8_t> there(bytes / os::page_size());
    ASSERT_EQ(os::in_page_table(address, there.size(), there.data()), 0);
    for (const uint8_t page : there) EXPECT_EQ(page, 1);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(buffer[i], 0);
    EXPECT_EQ(os::unmap(buffer, bytes), 0);
    EXPECT_NE(msync(buffer, os::page_size(), MS_ASYNC), 0) << "its first page is mapped still";
  }
}

/// What the kernel says of the mapping at `address` (VmFlags in /proc/self/smaps).
std::string flags_of(const void *address) {
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      here = begin <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end;
    else if (here && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "";
}

TEST(OsMemory, TablesTakeMemoryPageByPageAndDataOfTheProgramAsItsOwnWould) {
  constexpr size_t kBytes = 64u << 20;
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "this kernel has no large pages";
  void *table = os::reserve(kBytes), *data = os::reserve_for_program(kBytes);
  EXPECT_NE(flags_of(table).find(" nh "), std::string::npos) << flags_of(table);
  EXPECT_EQ(flags_of(data).find(" nh "), std::string::npos) << flags_of(data);
  os::unmap(table, kBytes);
  os::unmap(data, kBytes);
}

TEST(OsMemory, BytesInMemoryAreThoseOfTouchedPages) {
  const uint64_t page = os::page_size(), pages = 10000; // more than one call of the kernel's
  auto *memory = static_cast<char *>(mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(madvise(memory, pages * page, MADV_NOHUGEPAGE), 0);
  const auto at = reinterpret_cast<uint64_t>(memory);
  EXPECT_EQ(os::bytes_in_memory(at, pages * page), 0u);
  for (const uint64_t i : {0ul, 4095ul, 4096ul, 9999ul}) memory[i * page] = 1;
  EXPECT_EQ(os::bytes_in_memory(at, pages * page), 4 * page);
  EXPECT_EQ(os::bytes_in_memory(at + page, pages * page - 2 * page), 2 * page);
  munmap(memory, pages * page);
  EXPECT_EQ(os::bytes_in_memory(at, pages * page), 0u);
}
