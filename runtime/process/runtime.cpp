// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/runtime.h"

#include "pagecast/pagecast.h"
#include "runtime/process/allocations.h"
#include "runtime/kernel/descriptors.h"
#include "runtime/entry/nests.h"
#include "runtime/entry/small_nests.h"
#include "runtime/process/fork.h"
#include "runtime/process/handlers.h"
#include "runtime/process/maps.h"
#include "runtime/state/locks.h"
#include "runtime/kernel/message.h"
#include "runtime/process/modules.h"
#include "runtime/process/engine_threads.h"
#include "runtime/process/named_maps.h"
#include "runtime/process/unpaged_budget.h"
#include "runtime/profile/profile.h"
#include "runtime/state/report.h"
#include "runtime/state/open_nests.h"
#include "runtime/engine/engine.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/nbd/link.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

extern char **environ;

namespace pagecast {

constinit SmallBlocksWatch small_blocks_watch;
namespace {

Options options;
std::atomic<uint32_t> options_read{0};
/// What holds until the C library has been started, which is when there is an environment to read: parts of the program may
/// run before (.preinit_array; the undefined-behaviour sanitizer's does). No allocation is large then.
constexpr Options too_early = [] {
  Options o;
  o.large = UINT64_MAX;
  o.enable = false;
  return o;
}();

constinit UnpagedBudget budget(options);
uint64_t started_ns = 0;
std::atomic<bool> may_start{false}; ///< nothing is paged before the constructor is done, which may have made threads for it
bool refused = false; ///< paging was needed and could not be had: said once
bool fork_refused = false; ///< a fork would have been better with paging, which could not be had
bool files_refused = false; ///< there cannot even be hints for files
std::atomic<uint64_t> left_alone{0}; ///< mapped files that advice cannot move
char refused_why[1700];
int refused_error = 0; ///< why the pager did not start, where that has a number
constexpr int kNotOpen = -EBADF;
int statistics_file = kNotOpen; ///< or the error that it could not be opened with
alignas(Engine) char engine_memory[sizeof(Engine)];
std::atomic<Engine *> engine{nullptr};

/// Memory lives in a file from now on. False, with the reason added to that in refused_why, if it cannot.
bool keep_memory_in_file(Engine &p, uint64_t filled_bytes) {
  if (options.backend == BackEnd::kPager) return false;
  const uint64_t overflow = filled_bytes > budget.bytes() ? filled_bytes - budget.bytes() : 0;
  char why[800];
  const int error = p.files().has_memory() ? 0 : p.files().start_memory(overflow, why, sizeof why);
  if (error == 0) {
    snprintf(p.statistics.back_end, sizeof p.statistics.back_end, "advise, with memory in a file: %.800s", refused_why);
    return true;
  }
  const size_t length = strlen(refused_why);
  if (error != refused_error) // else it is the same once more, though the directory's name may be written otherwise
    snprintf(refused_why + length, sizeof refused_why - length, ", nor can they live in a file: %s", why);
  return false;
}

/// A pager that pages memory. NULL, with a sentence in refused_why, if that cannot be.
Engine *make_pager(uint64_t data_bytes, uint64_t filled_bytes) {
  const os::Support support = os::find_support();
  const char *missing = options.backend == BackEnd::kAdvise ? "PAGECAST_BACKEND=advise" : support.missing;
  refused_error = 0;
  if (missing) return snprintf(refused_why, sizeof refused_why, "%s", missing), nullptr;
  Engine *made = new (engine_memory) Engine;
  made->expect(std::min(data_bytes, os::own_anonymous_bytes()));
  refused_error = made->prepare(options, budget.bytes(), filled_bytes, refused_why, sizeof refused_why / 2);
  if (refused_error) return nullptr;
  snprintf(made->statistics.back_end, sizeof made->statistics.back_end, "pager");
  return made;
}

/// One that advises, where memory cannot be paged, for the reason in refused_why: for mapped files (`files`), or for
/// memory in a file. NULL, with more in refused_why, if that cannot be either.
Engine *make_adviser(uint64_t filled_bytes, bool files) {
  if (options.backend == BackEnd::kPager) return nullptr;
  char why[400];
  Engine *made = new (engine_memory) Engine;
  if (made->prepare_files(options, budget.bytes(), why, sizeof why)) return nullptr;
  made->statistics.stalls_are_measured = false;
  snprintf(made->statistics.back_end, sizeof made->statistics.back_end, "%.800s", refused_why);
  return files || keep_memory_in_file(*made, filled_bytes) ? made : nullptr;
}

/// Those that only files and memory in a file need.
void need_file_threads() {
  if (!files_refused) files_refused = start_file_threads() != 0;
}

/// `made` if it is one and its threads run; else NULL, with a sentence in refused_why.
Engine *running(Engine *made) {
  if (made) os::give_back_zeros(made, sizeof *made); // that its construction stored, while nobody else knows it
  const int error = made ? start_engine_threads(*made, options, budget.has_swap(), started_ns) : 0;
  if (error) snprintf(refused_why, sizeof refused_why, "io_uring or a thread cannot be had (%s)", strerror(-error));
  return error ? nullptr : made;
}

/// Why an engine is started.
enum class Start { kMemory, kFiles, kAtOnce, kFork };

constexpr const char *reason_of(Start start) {
  if (start == Start::kFiles)
    return "mapped files and large data of %llu MiB exceed the budget of %llu MiB: advice for the files";
  if (start == Start::kAtOnce) return "large data of %llu MiB, and a budget of %llu MiB: paging, as the program asks for it";
  if (start == Start::kFork)
    return "large data of %llu MiB, of a budget of %llu MiB, are shared with a child: paging, as there may be no memory for copies";
  return "large data of %llu MiB and what paging takes itself exceed the budget of %llu MiB: paging";
}

/// Starts the pager. False, with a sentence in refused_why, if that cannot be.
bool start_engine(uint64_t data_bytes, uint64_t filled_bytes, Start why) {
  const bool files = why == Start::kFiles;
  small_blocks_watch.left.store(SmallBlocksWatch::kNot, std::memory_order_relaxed); // until now_paged(), or for good
  const StartsThreads here;
  if (!inherited_sandbox_allows_paging()) {
    snprintf(refused_why, sizeof refused_why, "a seccomp filter, which the program was started with, kills who tries");
    return false;
  }
  if (!files && options.backend != BackEnd::kAdvise) budget.wait_for_room(std::min(data_bytes, os::own_anonymous_bytes()));
  Engine *made = running(make_pager(data_bytes, filled_bytes));
  if (!made && why != Start::kFork) made = running(make_adviser(filled_bytes, files)); // memory in a file would be copied
  if (!made) return false;
  made->set_cap(options.memory);
  handlers_watch();
  nests_start(made);
  engine.store(made, std::memory_order_release);
  tell(reason_of(why), static_cast<unsigned long long>(data_bytes >> 20), static_cast<unsigned long long>(budget.bytes() >> 20));
  if (options.hints) modules_set_gates(std::min(options.gate, kLeastSmallNest));
  return true;
}

/// The engine, by which memory is paged from now on.
Engine *now_paged() {
  small_blocks_watch.is_paged.store(true, std::memory_order_relaxed);
  small_blocks_watch.left.store(0, std::memory_order_relaxed); // watched, by the engine
  return engine.load(std::memory_order_relaxed);
}

/// Whether the program's heap is not this library's (modules.h). Whose it is, refused_why says.
bool has_other_allocator() {
  const char *module = modules_other_allocator();
  if (module)
    snprintf(refused_why, sizeof refused_why,
             "the program's heap is another allocator's, of %s, and other large data fit in the budget", module);
  return module;
}

/// Why nothing was paged.
const char *why_inactive() {
  if (refused) return refused_why;
  if (options.profile) return "a profile is taken";
  if (!options.enable) return "switched off by PAGECAST_ENABLE";
  if (sandboxed()) return "the program put on a seccomp filter while nothing was paged";
  return has_other_allocator() ? refused_why : "large data fit in the budget";
}

/// Writes the statistics so far, and closes the file. 0 or -errno.
int write_now(int file, bool finished) {
  static Statistics none;
  Engine *running = engine.load(std::memory_order_acquire);
  Statistics &s = running ? running->statistics : none;
  if (!running) s.budget_bytes = budget.bytes();
  s.files.left_alone = left_alone.load();
  const double wall = static_cast<double>(os::now_ns() - started_ns) * 1e-9;
  return write_statistics(s, file, running != nullptr, why_inactive(), wall, finished);
}

__attribute__((constructor(101))) void construct() {
  started_ns = os::now_ns();
  watch_forks();
  modules_note_permanent();
  NbdLink::find_helper(runtime_options().backing);
  named_maps_start();
  if (runtime_options().profile && profile::start(options)) modules_set_gates(profile::kGate);
  // Paging may begin in a mapping that the program's own allocator makes under its locks: threads ask it for memory then.
  if (runtime_options().enable && modules_other_allocator()) {
    os::park_threads();
    fork_needs_of_foreign_heap();
  }
  may_start.store(true);
  if (allocation_near(0, ~0ull)) allocations_page();
}

__attribute__((destructor)) void destruct() {
  if (maps_flush(0, ~0ull)) say("some of what the program stored to its maps could not be written to their exports");
  if (!options.stats) return;
  report_end();
  if (!sandboxed()) runtime_open_statistics();
  if (statistics_file == kNotOpen || statistics_file == -EEXIST) return;
  if (const int error = statistics_file < 0 ? statistics_file : write_now(statistics_file, true))
    say("the statistics could not be written to %s: %s", options.stats, strerror(-error));
}

} // namespace

const Options &runtime_options() {
  if (options_read.load(std::memory_order_acquire)) return options;
  if (!environ) return too_early;
  Guard guard(locks::options);
  if (!options_read.load(std::memory_order_relaxed)) {
    read_options(options);
    set_verbose(options.verbose);
    Statistics::hints_are_on.store(options.hints, std::memory_order_relaxed);
    if (options.profile) options.enable = false;
    budget.find(0);
    if (options.memory != kAuto && budget.bytes() < options.memory)
      tell("PAGECAST_MEMORY is more than this process may have; %llu MiB are used",
           static_cast<unsigned long long>(budget.bytes() >> 20));
    small_blocks_watch.below.store(options.enable && options.rows ? std::min(options.rows, options.large) : options.large,
                                   std::memory_order_relaxed);
    options_read.store(1, std::memory_order_release);
  }
  return options;
}

uint64_t runtime_budget() { return budget.bytes(); }

uint64_t runtime_unpaged_bytes() {
  constexpr uint64_t kPart = 64, kLargePart = 16, kLarge = 1u << 30, kLeast = 1u << 20;
  const uint64_t bytes = budget.bytes();
  return bytes < kLarge ? std::max(bytes / kPart, kLeast) : kLarge / kPart + (bytes - kLarge) / kLargePart;
}

bool runtime_starts_here() { return StartsThreads::here(); }

uint64_t runtime_set_memory(uint64_t bytes) {
  runtime_options();
  const uint64_t before = options.memory;
  options.memory = std::max(bytes, kLeastMemory);
  if (Engine *running = engine.load(std::memory_order_acquire)) running->set_cap(options.memory);
  else budget.find(allocations_in_memory());
  return before;
}

bool runtime_fits(uint64_t data_bytes) { return data_bytes <= budget.unpaged(data_bytes); }

bool runtime_small_blocks(uint64_t bytes) {
  const auto n = static_cast<int64_t>(bytes);
  if (Engine *running = runtime_pages_memory() ? runtime_running_engine() : nullptr)
    return running->note_small_blocks(bytes), false;
  budget.asked_small(bytes);
  const int64_t left = small_blocks_watch.left.load(std::memory_order_relaxed);
  return left != SmallBlocksWatch::kNot && small_blocks_watch.left.fetch_sub(n, std::memory_order_relaxed) <= n;
}

void runtime_small_blocks_freed(uint64_t bytes) {
  if (Engine *running = runtime_pages_memory() ? runtime_running_engine() : nullptr) running->note_small_blocks_freed(bytes);
}

void runtime_open_statistics() {
  if (options.stats && statistics_file == kNotOpen)
    statistics_file = open_statistics(options.stats, runtime_running_engine() != nullptr);
}

int runtime_write_statistics(int fd) {
  const int own = own_duplicate(fd);
  return own < 0 ? own : write_now(own, false);
}

bool runtime_must_page_to_fork(uint64_t data_bytes) {
  if (data_bytes < kLeastMemory || runtime_pages_memory() || refused || fork_refused || !options.enable || !may_start.load() ||
      options.backend == BackEnd::kAdvise || sandboxed())
    return false;
  return budget.copies_exceed();
}

Engine *runtime_engine(uint64_t data_bytes, uint64_t filled_bytes, Begin begin) {
  runtime_options();
  Engine *running = engine.load(std::memory_order_acquire);
  if (runtime_pages_memory()) return running;
  if (refused || !options.enable || !may_start.load() || sandboxed()) return nullptr;
  const bool at_once = begin != Begin::kExceeding;
  if (at_once) budget.find(allocations_in_memory());
  else budget.follow(data_bytes);
  if (begin == Begin::kForking) {
    fork_refused = running || !start_engine(data_bytes, filled_bytes, Start::kFork);
    return fork_refused ? nullptr : now_paged();
  }
  if (!at_once && runtime_fits(data_bytes)) return budget.watch_small_blocks(data_bytes), nullptr;
  if (running ? running->pages_memory() || keep_memory_in_file(*running, filled_bytes)
              : start_engine(data_bytes, filled_bytes, at_once ? Start::kAtOnce : Start::kMemory)) {
    Engine *paged = now_paged();
    if (!paged->pages_memory()) need_file_threads();
    return paged;
  }
  refused = true;
  if (at_once) {
    say("the program asks for paging, but its data cannot be paged: %s. It runs as it would without pagecast", refused_why);
    return nullptr;
  }
  say("the program's large data (%llu MiB) exceed the budget of %llu MiB, but they cannot be paged: %s. It runs as it would without pagecast",
      static_cast<unsigned long long>(data_bytes >> 20), static_cast<unsigned long long>(budget.bytes() >> 20), refused_why);
  return nullptr;
}

Engine *runtime_file_engine(uint64_t data_bytes, uint64_t file_bytes) {
  runtime_options();
  Engine *running = engine.load(std::memory_order_acquire);
  if (!options.enable || !options.hints || options.backend == BackEnd::kPager || files_refused || !may_start.load() ||
      sandboxed())
    return nullptr;
  if (!running) {
    budget.follow(data_bytes + file_bytes);
    if (data_bytes + file_bytes <= budget.unpaged(data_bytes)) return nullptr;
  }
  if (running ||
      start_engine(data_bytes + file_bytes, 0, Start::kFiles)) { // what memory holds fits: no room on the disk is needed yet
    need_file_threads();
    return files_refused ? nullptr : engine.load(std::memory_order_relaxed);
  }
  files_refused = true;
  tell("hints for mapped files cannot be given: %s", refused_why);
  return nullptr;
}

void runtime_left_alone() { left_alone.fetch_add(1, std::memory_order_relaxed); }

void runtime_never(const char *why) {
  Guard guard(locks::allocations);
  if (runtime_pages_memory()) return;
  snprintf(refused_why, sizeof refused_why, "%s", why);
  refused = true;
}

Engine *runtime_running_engine() { return engine.load(std::memory_order_acquire); }

bool runtime_can_follow() {
  if (sandboxed()) return false; // asking may be deadly
  const int fd = os::fault_open();
  close_own(fd);
  return fd >= 0;
}

void runtime_forked(bool shared) {
  if (options.stats && !strstr(options.stats, "%p")) options.stats = nullptr; // the parent's to write
  statistics_file = kNotOpen;
  Engine *inherited = engine.load(std::memory_order_relaxed);
  if (!inherited) return;
  report_forked();
  int error = -EPERM;
  if (shared) {
    error = inherited->recover();
    const bool had_file_threads = forget_file_threads();
    if (!error && !(error = start_engine_threads(*inherited, options, budget.has_swap(), started_ns))) {
      if (had_file_threads) need_file_threads();
      return inherited->child_started();
    }
    inherited->abandon();
    if (inherited->pages_memory() || inherited->files().has_memory())
      say("the child of a fork has no access to paged data: %s", strerror(-error));
  }
  modules_set_gates(~0ull);
  nests_start(nullptr);
  engine.store(nullptr, std::memory_order_release);
  refused = files_refused = true;
  small_blocks_watch.is_paged.store(false, std::memory_order_relaxed);
  snprintf(refused_why, sizeof refused_why, "it could not be taken over after fork");
}

} // namespace pagecast

using namespace pagecast;

extern "C" {

__attribute__((visibility("default"))) const char *pagecast_version(void) { return PAGECAST_VERSION; }
__attribute__((visibility("default"))) const char *pagecast_options_help(void) { return options_help(); }
__attribute__((visibility("default"))) int pagecast_active(void) { return runtime_running_engine() != nullptr; }

__attribute__((visibility("default"))) uint64_t pagecast_budget(void) {
  Engine *running = runtime_running_engine();
  return running ? running->budget() : 0;
}
}
