// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/control/controller.h"
#include "speculate/watch/clock.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr uint64_t kFirst =
    4000000;     ///< ns until the first look: the program is being loaded, and has not waited for what a copy costs
constexpr uint64_t kSettled = 50000000;  ///< ns: a program that runs so long is told if it gets no hints
constexpr uint64_t kShortest = 350000, kLongest = 20000000; ///< ns from look to look
constexpr uint64_t kQuietParts = 16, kLongestQuiet = 500000000; ///< ns, after so many times as long without a wait
constexpr uint64_t kShort = 1000000;                         ///< ns, while waits are short: a look costs some 70 us
constexpr uint64_t kInVain = 4000000;                        ///< ns, while nothing can be done about what is waited for
constexpr uint64_t kFar = 16 * kInVain;                      ///< ns of waiting: so far from a copy, some of it may be missed
constexpr uint64_t kTreeEvery = 20000000;                   ///< ns
constexpr uint64_t kLittleMemory = 256u << 20;              ///< bytes
constexpr uint64_t kShareEvery = 50000000;                  ///< ns

} // namespace

/// The memory that is shared with copies, and the log.
bool Controller::map_memory() {
  channel_file_ = memfd_create("pagecast-speculate", MFD_CLOEXEC);
  if (channel_file_ < 0 || ftruncate(channel_file_, sizeof(Channel))) return false;
  void *const memory = mmap(nullptr, sizeof(Channel), PROT_READ | PROT_WRITE, MAP_SHARED, channel_file_, 0);
  const uint64_t count = memory_left() < kLittleMemory ? HintLog::kFewFingerprints : HintLog::kFingerprints;
  void *const fingerprints = mmap(nullptr, count * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || fingerprints == MAP_FAILED) return false;
  channel_ = static_cast<Channel *>(memory);
  log_.attach(static_cast<uint32_t *>(fingerprints), count);
  log_.observe(ledger_);
  return true;
}

/// At the first wait that counts: programs whose files are in memory need nothing of this.
bool Controller::prepare() {
  if (prepared_ || failed_) return prepared_;
  pthread_t thread;
  prepared_ = map_memory() && prefetcher_.start(&log_) && pthread_create(&thread, nullptr, run_feeder, this) == 0;
  failed_ = !prepared_;
  if (failed_) warn("there is no memory or no thread to be had");
  return prepared_;
}

void Controller::account(Ledger *ledger, ReadsTracer *tracer) {
  ledger_ = ledger;
  tracer_ = tracer;
}

void *Controller::run_feeder(void *self) {
  static_cast<Controller *>(self)->feed();
  return nullptr;
}

void Controller::feed() {
  for (;;) {
    bool full = false;
    {
      const std::lock_guard lock(feeding_);
      while (channel_->tail != __atomic_load_n(&channel_->head, __ATOMIC_SEQ_CST))
        if (!take_hint()) {
          full = true;
          break;
        }
    }
    const uint32_t head = static_cast<uint32_t>(__atomic_load_n(&channel_->head, __ATOMIC_SEQ_CST));
    __atomic_store_n(&channel_->listening, 1u, __ATOMIC_SEQ_CST);
    const bool empty = static_cast<uint32_t>(__atomic_load_n(&channel_->head, __ATOMIC_SEQ_CST)) == head &&
                       channel_->tail == __atomic_load_n(&channel_->head, __ATOMIC_SEQ_CST);
    const timespec patience = {0, full ? 1000000 : 100000000};
    if (full || empty) syscall(SYS_futex, &channel_->head, FUTEX_WAIT, head, &patience, nullptr, 0);
    __atomic_store_n(&channel_->listening, 0u, __ATOMIC_SEQ_CST);
  }
}

/// Hands one hint on. What a copy writes is not trusted: it may have run wild. False: the prefetcher has no room.
bool Controller::take_hint() {
  if (channel_->head - channel_->tail > kRing) { // nonsense
    channel_->tail = channel_->head;
    return true;
  }
  static Hint hint; // one feeder
  memcpy(&hint, &channel_->ring[channel_->tail & (kRing - 1)], sizeof hint);
  hint.path[kPathBytes - 1] = 0;
  hint.copy = copy_number_;
  hint.length = std::min<uint64_t>(hint.length, HintLog::kMostLength);
  const bool sane = hint.path[0] == '/' && static_cast<uint32_t>(hint.kind) <= static_cast<uint32_t>(HintKind::kDirectory) &&
                    hint.offset < uint64_t{1} << 62;
  if (sane && !prefetcher_.give(hint)) return false;
  if (sane) {
    log_.add_path(hint.path);
    if (hint.kind == HintKind::kRange || hint.kind == HintKind::kOpen) log_.add(hint.inode, hint.offset, hint.length);
    if (hint.kind == HintKind::kRange && log_.observer()) log_.observer()->hinted(hint.inode, hint.offset, hint.length);
  }
  __atomic_store_n(&channel_->tail, channel_->tail + 1, __ATOMIC_RELEASE);
  return true;
}

/// Bytes that the original has read by calls since the last time.
uint64_t Controller::read_since() {
  char text[512];
  if (!io_.read(text, sizeof text)) return 0;
  const uint64_t read = field(text, "rchar", 0), before = read_;
  read_ = read;
  return before && read > before ? read - before : 0;
}

/// Bytes of files that its page tables have got since then: it has touched them, or what is near them.
uint64_t Controller::mapped_since() {
  char text[128];
  if (!statm_.read(text, sizeof text)) return 0;
  unsigned long resident = 0, of_files = 0;
  if (sscanf(text, "%*u %lu %lu", &resident, &of_files) != 2) return 0;
  const uint64_t mapped = of_files * 4096, before = mapped_;
  mapped_ = mapped;
  return before && mapped > before ? mapped - before : 0;
}

/// How far the original has come: the prefetcher may go on as it reads.
void Controller::follow_progress() {
  if (!copied_) return;
  const uint64_t passed = read_since() + mapped_since();
  if (passed == 0) return;
  prefetcher_.consumed(passed);
  __atomic_store_n(&channel_->progress, channel_->progress + passed, __ATOMIC_RELAXED);
}

/// Gives what is prefetched its share of memory, by what it has displaced since the last time.
void Controller::follow_memory(uint64_t now) {
  if (!prepared_ || now - shared_ < kShareEvery) return;
  const uint64_t refaulted = bytes_refaulted(), prefetched = prefetcher_.counts().bytes;
  if (shared_ == 0) share_ = Share::of(memory_left());
  else share_.passed(prefetched - prefetched_, refaulted - refaulted_, memory_left());
  shared_ = now;
  refaulted_ = refaulted;
  prefetched_ = prefetched;
  prefetcher_.set_lead(share_.lead());
  __atomic_store_n(&channel_->ahead_limit, prefetcher_.lead_as_read(), __ATOMIC_RELAXED);
}

/// False: the program has ended.
bool Controller::sleep_until_something(uint64_t nanoseconds) {
  if (tracer_) {
    tracer_->serve(nanoseconds);
    nanoseconds = 0;
  }
  pollfd files[2] = {{program_, POLLIN, 0}, {copy_handle_, POLLIN, 0}};
  const timespec time = {static_cast<time_t>(nanoseconds / 1000000000u), static_cast<long>(nanoseconds % 1000000000u)};
  return ppoll(files, 2, &time, nullptr) <= 0 || files[0].revents == 0;
}

void Controller::refuse_early(pid_t program) {
  const char *const reason = refusal(program);
  for (unsigned i = 0; reason && i < count_; i++) watched_[i].refused |= watched_[i].thread.process() == program;
  if (reason) warn(reason);
}

/// Looks at everything once.
void Controller::look(pid_t program, uint64_t now) {
  if (now - tree_looked_ > kTreeEvery || eager_) {
    if (has_new_tasks() || one_ended_) refresh_tree(program);
    one_ended_ = false;
    tree_looked_ = now;
  }
  check_copy(now);
  judge_trial(now);
  judge_hints(now);
  bool waits = false, short_waits = false, long_waits = false, in_vain = false;
  for (unsigned i = 0; i < count_; i++) {
    Watched &one = watched_[i];
    examine(one, monotonic_now());
    const bool near = copied_ || (!one.refused && one.worth.lacks(now) < kFar);
    waits |= one.wait_begin != 0;
    short_waits |= near && one.wait_begin != 0;
    long_waits |= near && one.long_wait;
    in_vain |= one.in_vain;
  }
  follow_progress();
  follow_memory(now);
  statistics_.looks++;
  if (waits) wait_seen_ = now;
  const uint64_t longer = now - wait_seen_ < kLongest ? period_ + period_ / 4 : period_ * 2;
  period_ = in_vain && !copied_    ? kInVain
            : long_waits || eager_ ? kShortest
            : short_waits          ? kShort
            : waits                ? kInVain
                                   : std::min(longer, longest_period(now));
}

/// What is missed when waits begin is little beside the time without any.
uint64_t Controller::longest_period(uint64_t now) const {
  if (copied_) return kLongest;
  return std::clamp((now - std::max(wait_seen_, begin_)) / kQuietParts, kLongest, kLongestQuiet);
}

void Controller::run(pid_t program) {
  program_ = static_cast<int>(syscall(SYS_pidfd_open, program, 0));
  void *const memory = mmap(nullptr, sizeof(Watched) * kWatched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (program_ < 0 || memory == MAP_FAILED) return;
  watched_ = static_cast<Watched *>(memory);
  uint64_t now = begin_ = monotonic_now();
  period_ = kFirst;
  for (bool early = true;; early &= now - begin_ < kSettled) {
    if (!sleep_until_something(period_)) break;
    now = monotonic_now();
    look(program, now);
    if (early && now - begin_ >= kSettled) refuse_early(program);
  }
  if (copied_) end_copy(Ending::kOriginal);
  if (tracer_) {
    tracer_->serve(0);
    statistics_.account = ledger_->counts();
    statistics_.accounted = true;
  }
  statistics_.seconds = static_cast<double>(monotonic_now() - begin_) * 1e-9;
  statistics_.prefetch = prefetcher_.counts();
  rusage own = {};
  getrusage(RUSAGE_SELF, &own);
  statistics_.own_seconds = static_cast<double>(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                            static_cast<double>(own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1e-6;
  statistics_.own_bytes = static_cast<uint64_t>(own.ru_maxrss) << 10;
}

} // namespace pagecast::speculate
