// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/report.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>
#include <atomic>

namespace pagecast {
namespace {

constexpr uint64_t kFirstNs = 250'000'000, kEveryNs = 1'000'000'000;
constexpr uint64_t kPatience = 500; ///< times as long as a report takes: so little of the time goes into them
constexpr uint64_t kLookNs = 1'000'000;
constexpr uint64_t kLongestWriteNs = 2'000'000'000; ///< a disk that hangs does not keep the program from ending

enum State : uint32_t { kIdle, kWriting, kOver };
std::atomic<uint32_t> state{kIdle};

/// Sleeps without the signals, the heap or the locks of the program.
void rest(uint64_t ns) { os::wait_readable(-1, ns); }

} // namespace

void report_run(const Statistics &statistics, const char *path, uint64_t started_ns) {
  for (uint64_t wait = kFirstNs;;) {
    rest(wait);
    uint32_t idle = kIdle;
    if (sandboxed() || !state.compare_exchange_strong(idle, kWriting)) return;
    const uint64_t began = os::now_ns();
    const int error = replace_statistics(statistics, path, static_cast<double>(began - started_ns) * 1e-9);
    wait = std::max(kEveryNs, kPatience * (os::now_ns() - began));
    uint32_t writing = kWriting;
    if (!state.compare_exchange_strong(writing, kIdle) || error) return;
  }
}

void report_end() {
  for (uint64_t waited = 0; waited < kLongestWriteNs; waited += kLookNs) {
    uint32_t idle = kIdle;
    if (state.compare_exchange_strong(idle, kOver) || idle == kOver) return;
    rest(kLookNs);
  }
  state.store(kOver);
}

void report_forked() { state.store(kIdle); }

} // namespace pagecast
