// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/copy_maker.h"
#include "speculate/inject/image.h"
#include "speculate/inject/stub.h"
#include "speculate/inject/tracee.h"
#include "speculate/sandbox/filter.h"
#include "speculate/watch/awaited.h"
#include "speculate/watch/clock.h"
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <initializer_list>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr uint64_t kStack = 64 << 10;         ///< bytes, behind the image
constexpr uint64_t kMoreMemory = 1ull << 30;  ///< bytes that a copy may add to what the original has mapped
constexpr int kNullNumber = 1023;

Resume resume(const user_regs_struct &r) {
  return {r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
          r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip, r.eflags};
}

/// Other names for files than ours: hints by path would miss.
bool is_elsewhere(pid_t process) {
  char path[64];
  for (const char *what : {"ns/mnt", "root"}) {
    struct stat theirs, ours;
    snprintf(path, sizeof path, "/proc/%d/%s", process, what);
    if (stat(path, &theirs)) return true;
    snprintf(path, sizeof path, "/proc/self/%s", what);
    if (stat(path, &ours) || theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev) return true;
  }
  return false;
}

CopyMade refused(const char *reason) {
  CopyMade made;
  made.outcome = Made::kNever;
  made.reason = reason;
  return made;
}

CopyMade not_now() { return {}; }

/// It waits for memory of its own, or for its program.
CopyMade nothing_to_read() {
  CopyMade made;
  made.outcome = Made::kNoUse;
  return made;
}

/// A program that is just ending cannot be traced either.
CopyMade refused_by_host(pid_t process) {
  const timespec moment = {0, 20000000};
  nanosleep(&moment, nullptr);
  return is_ending(process) ? not_now() : refused("the host does not allow it to be traced");
}

} // namespace

bool has_landlock() {
  constexpr long kCreate = 444, kVersion = 1;
  static const bool has = syscall(kCreate, nullptr, 0, kVersion) >= 1;
  return has;
}

namespace {

const char *find_refusal(pid_t process) {
  const Facts facts = facts_of(process, process);
  if (!facts.known) return "it has ended";
  if (facts.tracer && facts.tracer != static_cast<uint64_t>(getpid())) return "another process traces it";
  if (facts.filtered) return "it has a seccomp filter of its own";
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", process);
  const int memory = open(path, O_RDONLY | O_CLOEXEC); // asks what ptrace would be asked
  if (memory < 0) return "the host does not allow it to be traced (another user's program, or ptrace_scope)";
  close(memory);
  if (!is_64_bit(process)) return "it is not a 64-bit program";
  const uint32_t trap = SECCOMP_RET_TRAP;
  if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &trap)) return "the host does not allow seccomp filters";
  if (is_elsewhere(process)) return "it has a file system of its own";
  if (has_own_io(process)) return kOwnIo;
  return nullptr;
}

} // namespace

const char *refusal(pid_t process) {
  const char *const reason = find_refusal(process);
  return reason && is_ending(process) ? nullptr : reason; // of one that is just ending nothing is to be said
}

bool CopyMaker::fill_order(const Thread &thread, pid_t clone, const user_regs_struct &back, const CopyPlan &plan) {
  const pid_t original = thread.process();
  if (!map_.read(clone) || !list_descriptors(clone, positions_, &descriptors_)) return false;
  memset(&order_, 0, offsetof(Order, filter));
  order_.resume = resume(back);
  order_.original = original;
  order_.thread = thread.number();
  order_.parent = facts_of(original, original).parent;
  order_.group = getpgid(original);
  order_.controller = getpid();
  order_.channel = plan.channel;
  order_.copy = plan.number;
  order_.seconds = plan.seconds;
  order_.memory_limit = map_.mapped() + kMoreMemory;
  order_.landlock = has_landlock();
  rlimit files = {};
  prlimit(original, RLIMIT_NOFILE, nullptr, &files);
  order_.null = static_cast<int32_t>(std::min<rlim_t>(kNullNumber, files.rlim_cur - 1));
  if (getrandom(&order_.cookie, sizeof order_.cookie, 0) != sizeof order_.cookie) return false;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/cwd", clone);
  const ssize_t length = readlink(path, order_.directory, sizeof order_.directory);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof order_.directory) order_.directory[0] = 0;
  if (!map_.list_shared(order_.shares, kMaxShared, &order_.shared)) return false;
  order_.mapped = map_.list_mapped(order_.maps, kMaxMapped);
  for (unsigned i = 0; i < descriptors_.count; i++)
    if (descriptors_.order[i].number < order_.null) order_.descriptor[order_.descriptors++] = descriptors_.order[i];
  return true;
}

bool CopyMaker::lock_up(const Thread &original, const user_regs_struct &back, const CopyPlan &plan, uint64_t call_at,
                        CopyMade *made) {
  Clone copy(made->process); // from here on it is killed unless it is released
  if (!copy.hold() || !fill_order(original, made->process, back, plan) || descriptors_.own_io) return false;
  const uint64_t size = image_head().size + kStack;
  const uint64_t map[6] = {0, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ~uint64_t{0}, 0};
  uint64_t image = 0;
  if (!copy.call(call_at, SYS_mmap, map, &image) || static_cast<int64_t>(image) < 0) return false;
  order_.steps = make_filter({image, image + size, order_.cookie}, order_.filter, kMaxFilter);
  const uint64_t filled = offsetof(Order, descriptor) + order_.descriptors * sizeof(DescriptorOrder);
  if (order_.steps == 0 || !copy.write(image, pagecast_copy_image, image_bytes()) ||
      !copy.write(image + image_head().order, &order_, filled))
    return false;
  if (!copy.run_to_breakpoint(image + image_head().enter, (image + size) & ~uint64_t{15})) return false;
  made->handle = static_cast<int>(syscall(SYS_pidfd_open, made->process, 0));
  if (made->handle < 0) return false;
  fcntl(made->handle, F_SETFD, FD_CLOEXEC);
  return copy.release();
}

namespace {

/// As late as can be: the stop must come in the wait that was seen, not in the next; or in any, if they are too short for that.
bool is_waiting(const Thread &original, const Look &seen, bool any) {
  constexpr int kLooks = 40;
  for (int i = 0; any && i < kLooks; i++)
    if (original.look().state == 'D') return true;
  const Look again = original.look();
  return !any && again.state == seen.state && again.runs == seen.runs;
}

} // namespace

CopyMade CopyMaker::make(const Thread &original, const Look &seen, const CopyPlan &plan) {
  const pid_t process = original.process();
  if (!map_.read(process)) return refused("its memory map cannot be read");
  if (plan.in_fault && map_.list_mapped(order_.maps, 1) == 0) return nothing_to_read();
  const uint64_t code = map_.find_zeros(process, kStubBytes);
  if (!code) return refused("it has no room for a few instructions (no vdso)");
  if (!is_waiting(original, seen, plan.any_wait)) return not_now();
  Tracee tracee;
  switch (tracee.stop(process, original.number(), plan.tracer)) {
  case Stopped::kYes: break;
  case Stopped::kRefused: return refused_by_host(process);
  case Stopped::kNotNow: return not_now();
  }
  const uint64_t begin = monotonic_now();
  if (!tracee.mend(plan.in_fault)) return not_now();
  const user_regs_struct back = tracee.registers();
  const Stub stub = make_stub(back, plan.unreaped);
  if (stub.length > kStubBytes - sizeof kStubMark || !tracee.write_code(code, stub.bytes, kStubBytes))
    return refused("its code cannot be written");
  CopyMade made;
  made.process = tracee.run_to_clone(code);
  if (made.process) positions_.read(process);
  tracee.detach();
  made.stopped = monotonic_now() - begin;
  made.outcome = Made::kFailed;
  if (!made.process) return made;
  descriptors_.own_io = false;
  if (lock_up(original, back, plan, code + stub.call_at, &made)) made.outcome = Made::kCopy;
  else if (descriptors_.own_io) {
    made.outcome = Made::kNever;
    made.reason = kOwnIo;
  }
  return made;
}

} // namespace pagecast::speculate
