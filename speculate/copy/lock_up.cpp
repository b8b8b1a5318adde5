// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a copy locks itself up before it runs a single instruction of the program. Each step must succeed, or the copy
// ends; the number of the step that failed is left in the channel.
#include "speculate/copy/state.h"

namespace pagecast::speculate {
namespace {

// As of the kernel's headers.
constexpr long kDeathSignal = 1, kDumpable = 4, kName = 15, kNoNewPrivileges = 38, kKill = 9, kSigSys = 31, kSigSegv = 11,
               kIdle = 5;
constexpr long kLandlockCreate = 444, kLandlockAdd = 445, kLandlockRestrict = 446;
constexpr long kReadable = 1, kWritable = 2, kPrivate = 2, kFixed = 16, kAnonymous = 32, kNoReserve = 0x4000, kShared = 1,
               kMayMove = 1;

struct Limit {
  uint64_t soft, hard;
};

class Steps {
public:
  /// The next step, which must not fail.
  long must(long result) {
    number_++;
    if (result < 0) end(Ended::kSetUp, number_ * 1000 - result);
    return result;
  }

private:
  long number_ = 0;
};

void write_number(char *&to, uint64_t value) {
  char digits[20];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  while (n) *to++ = digits[--n];
  *to = 0;
}

void write_text(char *&to, const char *text) {
  while (*text) *to++ = *text++;
  *to = 0;
}

/// The copy ends with the thread that it was cloned from, by the clock, and leaves no trace.
void bound_life(Steps &steps) {
  steps.must(call(__NR_prctl, kDeathSignal, kKill));
  if (call(__NR_getppid) != pagecast_order.original) steps.must(-kNoEntry); // it has died before that was said
  call(__NR_setsid); // the terminal's signals are not for it
  call(__NR_prctl, kName, "pagecast-copy");
  struct {
    long value;
    int signal, notify;
    char rest[48];
  } event = {0, kKill, 0, {}};
  int timer = 0;
  const long when[4] = {0, 0, static_cast<long>(pagecast_order.seconds), 0};
  steps.must(call(__NR_timer_create, 1L, &event, &timer));
  steps.must(call(__NR_timer_settime, timer, 0L, when, 0L));
  constexpr long kCore = 4, kFileSize = 1, kProcessor = 0, kAddressSpace = 9;
  const Limit none = {0, 0}, seconds = {pagecast_order.seconds, pagecast_order.seconds},
              space = {pagecast_order.memory_limit, pagecast_order.memory_limit};
  call(__NR_setrlimit, kCore, &none);
  call(__NR_setrlimit, kFileSize, &none);
  call(__NR_setrlimit, kProcessor, &seconds);
  call(__NR_setrlimit, kAddressSpace, &space);
  const int priority = 0;
  if (call(__NR_sched_setscheduler, 0L, kIdle, &priority)) call(__NR_setpriority, 0L, 0L, 19L);
  const long first = call(__NR_openat, kAtCwd, "/proc/self/oom_score_adj", static_cast<long>(kWriteOnly | kCloseOnExec));
  if (first < 0) return;
  call(__NR_write, first, "1000", 4L);
  call(__NR_close, first);
}

void map_channel(Steps &steps) {
  char path[64], *to = path;
  write_text(to, "/proc/");
  write_number(to, static_cast<uint64_t>(pagecast_order.controller));
  write_text(to, "/fd/");
  write_number(to, static_cast<uint64_t>(pagecast_order.channel));
  const long file = steps.must(call(__NR_openat, kAtCwd, path, static_cast<long>(kReadWrite | kCloseOnExec)));
  const long memory = call6(__NR_mmap, 0, sizeof(Channel), kReadable | kWritable, kShared, file, 0);
  call(__NR_close, file);
  steps.must(memory);
  state.channel = reinterpret_cast<Channel *>(memory);
}

/// Its own descriptor of the same file, for reading only; or /dev/null.
void replace_descriptor(const DescriptorOrder &order) {
  Descriptor &made = state.table[order.number];
  made.flags = order.flags;
  made.kind = order.kind == DescriptorKind::kNull ? Kind::kNull : Kind::kOther;
  long own = -1;
  if (order.kind == DescriptorKind::kRegular || order.kind == DescriptorKind::kDirectory) {
    char path[40], *to = path;
    write_text(to, "/proc/self/fd/");
    write_number(to, static_cast<uint64_t>(order.number));
    own = call(__NR_openat, kAtCwd, path, static_cast<long>(kReadOnly | kNoAccessTime));
    if (own < 0) own = call(__NR_openat, kAtCwd, path, static_cast<long>(kReadOnly));
  }
  const long closing = order.flags & kCloseOnExec ? kCloseOnExec : 0;
  Stat facts;
  if (own >= 0 && call(__NR_fstat, own, &facts) == 0) {
    adopt(order.number, facts, static_cast<int>(order.flags), order.path);
    if ((order.flags & kAccessMode) == kWriteOnly) made.size = facts.size;
    made.position = order.position;
    made.read = true;
    call(__NR_dup3, own, static_cast<long>(order.number), closing);
    if (made.kind == Kind::kDirectory) call(__NR_lseek, static_cast<long>(order.number), order.position, 0L);
  } else call(__NR_dup3, static_cast<long>(state.null), static_cast<long>(order.number), closing);
  if (own >= 0) call(__NR_close, own);
}

/// After this, no descriptor is shared with the original.
void replace_descriptors(Steps &steps) {
  const long null_at = pagecast_order.null;
  long opened = steps.must(call(__NR_openat, kAtCwd, "/dev/null", static_cast<long>(kReadOnly)));
  // Below the program's numbers it would be in the way.
  bool taken = false;
  for (unsigned i = 0; i < pagecast_order.descriptors; i++) taken |= pagecast_order.descriptor[i].number == null_at;
  if (taken) steps.must(-kInvalid);
  state.null = static_cast<int>(steps.must(call(__NR_dup3, opened, null_at, static_cast<long>(kCloseOnExec))));
  bool is_programs = false;
  for (unsigned i = 0; i < pagecast_order.descriptors; i++) is_programs |= pagecast_order.descriptor[i].number == opened;
  if (!is_programs) call(__NR_close, opened);
  long next = 0;
  for (unsigned i = 0; i < pagecast_order.descriptors; i++) {
    const DescriptorOrder &order = pagecast_order.descriptor[i];
    if (order.number > next) steps.must(call(__NR_close_range, next, static_cast<long>(order.number) - 1, 0L));
    replace_descriptor(order);
    next = order.number + 1;
  }
  if (next < null_at) steps.must(call(__NR_close_range, next, null_at - 1, 0L));
  steps.must(call(__NR_close_range, static_cast<long>(kTable), 0x7fffffffL, 0L));
}

long map_again(const SharedOrder &order) {
  const long file = call(__NR_openat, kAtCwd, order.path, static_cast<long>(kReadOnly | kNonBlock | kCloseOnExec));
  if (file < 0) return file;
  Stat facts;
  long result = -kInvalid;
  if (call(__NR_fstat, file, &facts) == 0 && facts.device == order.device && facts.inode == order.inode)
    result = call6(__NR_mmap, static_cast<long>(order.begin), static_cast<long>(order.end - order.begin), order.protection,
                   kPrivate | kFixed, file, static_cast<long>(order.offset));
  call(__NR_close, file);
  return result;
}

/// Copies the pages of shared memory that are there. The others are zeros, and to read them would make them be there, for all who
/// share them. False: there are too many.
bool copy_pages(uint64_t from, uint64_t end, long to) {
  constexpr uint64_t kPage = 4096, kAtOnce = 1024; ///< bytes, pages
  static uint8_t pages[kAtOnce];
  static uint64_t copied = 0; ///< bytes, of all mappings
  for (uint64_t at = from; at < end; at += kAtOnce * kPage) {
    const uint64_t count = ((end - at < kAtOnce * kPage ? end - at : kAtOnce * kPage) + kPage - 1) / kPage;
    if (call(__NR_mincore, at, count * kPage, pages)) return false;
    for (uint64_t i = 0; i < count; i++) {
      if (!(pages[i] & 1)) continue;
      if ((copied += kPage) > kMostCopiedShare) return false;
      const uint64_t page = at + i * kPage;
      memcpy(reinterpret_cast<void *>(to + static_cast<long>(page - from)), reinterpret_cast<void *>(page), kPage);
    }
  }
  return true;
}

/// Memory that is shared with others becomes the copy's own; where it holds too much it becomes unreadable.
void unshare(Steps &steps, const SharedOrder &order) {
  const long begin = static_cast<long>(order.begin), length = static_cast<long>(order.end - order.begin);
  if (order.regular && map_again(order) >= 0) return;
  long own = -1;
  if (order.regular == 0 && (order.protection & kReadable))
    own = call6(__NR_mmap, 0, length, kReadable | kWritable, kPrivate | kAnonymous | kNoReserve, -1, 0);
  if (own >= 0 && copy_pages(order.begin, order.end, own)) {
    constexpr long kMoveFixed = 2;
    steps.must(call(__NR_mremap, own, length, length, kMayMove | kMoveFixed, begin));
    steps.must(call(__NR_mprotect, begin, length, static_cast<long>(order.protection)));
    return;
  }
  if (own >= 0) call(__NR_munmap, own, length);
  steps.must(call6(__NR_mmap, begin, length, 0, kPrivate | kAnonymous | kFixed, -1, 0));
}

/// Read-only everywhere, by another means than the filter's, which cannot look into what openat2 is given.
void apply_landlock(Steps &steps) {
  const uint64_t all = (uint64_t{1} << 13) - 1; // the rights of its first version, which every version knows
  const uint64_t reading = 1u << 2 | 1u << 3;
  struct {
    uint64_t allowed;
    int parent;
  } __attribute__((packed)) rule = {reading, -1};
  const long rules = steps.must(call(kLandlockCreate, &all, sizeof all, 0L));
  const long root = steps.must(call(__NR_openat, kAtCwd, "/", static_cast<long>(kPathOnly | kCloseOnExec)));
  rule.parent = static_cast<int>(root);
  steps.must(call(kLandlockAdd, rules, 1L, &rule, 0L));
  steps.must(call(kLandlockRestrict, rules, 0L));
  call(__NR_close, root);
  call(__NR_close, rules);
}

extern "C" const char pagecast_restorer[];
extern "C" void pagecast_answer(int, const char *, void *);
extern "C" void pagecast_fault(int, const char *, void *);
alignas(64) char trap_stack[64 << 10];

void catch_calls(Steps &steps) {
  constexpr uint64_t kInfo = 4, kOnStack = 0x08000000, kNoDefer = 0x40000000, kRestorer = 0x04000000;
  struct {
    void *base;
    int flags;
    uint64_t size;
  } stack = {trap_stack, 0, sizeof trap_stack};
  steps.must(call(__NR_sigaltstack, &stack, 0L));
  struct {
    void (*handler)(int, const char *, void *);
    uint64_t flags;
    const char *restorer;
    uint64_t mask;
  } action = {pagecast_answer, kInfo | kOnStack | kNoDefer | kRestorer, pagecast_restorer, 0};
  steps.must(call(__NR_rt_sigaction, kSigSys, &action, 0L, 8L));
  action.handler = pagecast_fault;
  steps.must(call(__NR_rt_sigaction, kSigSegv, &action, state.fault_action, 8L));
  const uint64_t own = uint64_t{1} << (kSigSys - 1) | uint64_t{1} << (kSigSegv - 1);
  steps.must(call(__NR_rt_sigprocmask, 1L, &own, 0L, 8L));
}

void look_after_maps() {
  for (unsigned i = 0; i < pagecast_order.mapped; i++) {
    const SharedOrder &order = pagecast_order.maps[i];
    Mapped map = {order.begin, order.end, order.offset, order.device, order.inode, true, {}};
    memcpy(map.path, order.path, sizeof map.path);
    look_after(map);
  }
}

/// What the program has read of its open directories it will not read again: their names are learnt from the cache.
void learn_open_directories() {
  constexpr unsigned kMost = 8;
  constexpr int kReads = 4; ///< of the buffer: a larger directory is learnt in part
  static char buffer[32 << 10];
  unsigned learnt = 0;
  for (unsigned i = 0; i < pagecast_order.descriptors && learnt < kMost; i++) {
    const int number = pagecast_order.descriptor[i].number;
    const Descriptor *const file = descriptor(number);
    if (!file || file->kind != Kind::kDirectory || file->flags & kPathOnly) continue;
    const long at = call(__NR_lseek, number, 0L, 1L);
    if (at <= 0) continue; // not begun
    call(__NR_lseek, number, 0L, 0L);
    for (int k = 0; k < kReads && list_directory(number, buffer, sizeof buffer) > 0; k++) {}
    call(__NR_lseek, number, at, 0L);
    learnt++;
  }
}

} // namespace

extern "C" __attribute__((used)) void pagecast_lock_up() {
  Steps steps;
  bound_life(steps);
  replace_descriptors(steps);
  map_channel(steps);
  for (unsigned i = 0; i < pagecast_order.shared; i++) unshare(steps, pagecast_order.shares[i]);
  memcpy(state.directory, pagecast_order.directory, sizeof state.directory);
  learn_open_directories();
  catch_calls(steps);
  look_after_maps();
  steps.must(call(__NR_prctl, kNoNewPrivileges, 1L, 0L, 0L, 0L));
  if (pagecast_order.landlock) apply_landlock(steps);
  steps.must(call(__NR_prctl, kDumpable, 0L));
  struct {
    uint16_t length;
    const FilterStep *steps;
  } program = {static_cast<uint16_t>(pagecast_order.steps), pagecast_order.filter};
  constexpr long kFilter = 1, kSpeculationAllowed = 4;
  steps.must(call(__NR_seccomp, kFilter, kSpeculationAllowed, &program));
}

} // namespace pagecast::speculate
