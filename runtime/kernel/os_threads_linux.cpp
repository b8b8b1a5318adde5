// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads, what wakes them, and copies of the process.
#include "runtime/kernel/os.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/floating_environment.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/sandbox.h"

#include <atomic>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::os {
namespace {

thread_local bool ours __attribute__((tls_model("initial-exec"))) = false; ///< this thread is the runtime's
thread_local int number __attribute__((tls_model("initial-exec"))) = 0;    ///< of this thread; 0: not asked for yet

struct ThreadStart {
  const char *name;
  void (*body)();
  uint32_t given;   ///< a parked thread waits for this
  uint64_t *vector; ///< of its modules' thread-local variables (thread_vectors())
};

/// A size that no other thread's stack has: a child of fork gets the stacks of ours again, and none of the program's.
constexpr size_t kStackBytes = 268u << 10;
ThreadStart starts[8];
unsigned threads_started = 0;
std::atomic<unsigned> threads_running{0};
unsigned parked = 0; ///< the first so many of `starts` have a thread before they have a body

thread_local bool stands_back __attribute__((tls_model("initial-exec"))) = false; ///< of the batch class, and by our doing
thread_local bool may_change __attribute__((tls_model("initial-exec"))) = false;  ///< between the two classes

/// When the thread wakes, it does not interrupt who runs, but takes a processor that is idle, or its turn: beside a pager
/// that moves a gigabyte a second, tasks of others that run for milliseconds would be interrupted several times each. Not
/// where a filter may object to the call.
void stand_back() {
  const sched_param normal{0};
  if (!filtered() && sched_getscheduler(0) == SCHED_OTHER)
    stands_back = may_change = sched_setscheduler(0, SCHED_BATCH, &normal) == 0;
}

/// The thread that attends one of the program's; 0: none does.
std::atomic<int> attendant{0};
cpu_set_t unattended; ///< processors on which it may run else; none: not asked for yet

/// Where the calling thread's descriptor says that its vector is, by the ABI of thread-local variables. NULL: not known here.
uint64_t *own_vector() {
  uint64_t *vector = nullptr;
#if defined(__x86_64__)
  asm("mov %%fs:8, %0" : "=r"(vector));
#elif defined(__aarch64__)
  uint64_t **descriptor;
  asm("mrs %0, tpidr_el0" : "=r"(descriptor));
  vector = *descriptor;
#endif
  return vector;
}

void *thread_main(void *argument) {
  auto *shared = static_cast<ThreadStart *>(argument);
  ours = true;
  shared->vector = own_vector();
  prctl(PR_SET_NAME, "pagecast", 0, 0, 0);
  while (!__atomic_load_n(&shared->given, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &shared->given, FUTEX_WAIT_PRIVATE, 0, nullptr);
  const ThreadStart start = *shared;
  prctl(PR_SET_NAME, start.name, 0, 0, 0);
  stand_back();
  const DefaultFloating floating;
  start.body();
  threads_running.fetch_sub(1);
  return nullptr;
}

} // namespace

bool is_ours() { return ours; }

int event_open() {
  const int fd = own_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return fd < 0 ? -errno : fd;
}

void event_post(int fd) {
  const uint64_t one = 1;
  // Not by write(): that is a point of cancellation, and this is called where the program has none.
  syscall(SYS_write, fd, &one, sizeof one); // if that fails, the counter is full: it is posted anyway
}

void event_clear(int fd) {
  uint64_t count;
  syscall(SYS_read, fd, &count, sizeof count); // if that fails, it was clear
}

int token_pair(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return -errno;
  own_descriptor(ends[0]);
  own_descriptor(ends[1]);
  return 0;
}

bool hung_up(int end) {
  pollfd p{end, 0, 0};
  return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLNVAL));
}

bool answered(int end) {
  pollfd p{end, POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

void answer(int end) {
  const char byte = 0;
  syscall(SYS_sendto, end, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT, nullptr, 0);
}

void futex_wait(const uint32_t *word, uint32_t expected, uint64_t most_ns) {
  const bool alone = sandboxed(); // nobody may be able to wake us
  if (alone && !ours) {
    for (unsigned i = 0; i < 1000 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == expected; ++i) continue;
    return;
  }
  const uint64_t look = alone ? 1000000 : 1000000000;
  if (ours) most_ns = most_ns ? std::min(most_ns, look) : look;
  const timespec most{static_cast<time_t>(most_ns / 1000000000), static_cast<long>(most_ns % 1000000000)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, most_ns ? &most : nullptr, nullptr, 0);
}

void futex_wake(const uint32_t *word) {
  if (ours || !sandboxed()) syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void be_prompt(bool prompt) {
  if (!may_change || prompt != stands_back || attending()) return;
  const sched_param normal{0};
  if (sched_setscheduler(0, prompt ? SCHED_OTHER : SCHED_BATCH, &normal) == 0) stands_back = !prompt;
}

/// Whether a thread may leave the idle class again: the kernel asks for the privilege in its own name space of users.
static bool may_leave_idle_class() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) || !(data[0].effective >> CAP_SYS_NICE & 1)) return false;
  const int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
  char text[64];
  const ssize_t n = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = 0;
  unsigned long inside = 1, outside = 1, count = 0;
  return sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 && count == 0xffffffff;
}

/// As it was before it attended.
static void release_attendant(int thread) {
  const sched_param normal{0};
  sched_setscheduler(thread, SCHED_OTHER, &normal);
  sched_setaffinity(thread, sizeof unattended, &unattended);
}

bool attend(int processor) {
  static const bool may_return = may_leave_idle_class();
  if (!may_change || !may_return || sandboxed()) return false;
  // Once: later, somebody who ends it may just not have given them back yet.
  if (CPU_COUNT(&unattended) == 0 && sched_getaffinity(0, sizeof unattended, &unattended)) return false;
  const int self = thread_id();
  cpu_set_t there;
  CPU_ZERO(&there);
  CPU_SET(processor, &there);
  stands_back = false; // the class in which stop_attending() leaves it
  attendant.store(self);
  const sched_param normal{0};
  const bool is_there = sched_setaffinity(0, sizeof there, &there) == 0 && sched_setscheduler(0, SCHED_IDLE, &normal) == 0;
  // Who has ended it meanwhile did so before these calls, perhaps; who begins a sandbox may have found nothing to end.
  if (is_there && !sandboxed() && attendant.load() == self) return true;
  attendant.store(0);
  release_attendant(self);
  return false;
}

bool attending() { return attendant.load(std::memory_order_relaxed) != 0; }

void stop_attending() {
  if (const int thread = attendant.exchange(0)) release_attendant(thread);
}

int ThreadPlace::processor_of(uint64_t thread) {
  char text[512];
  if (thread != thread_) {
    forked();
    write_text(text, sizeof text, "/proc/self/task/%llu/stat", static_cast<unsigned long long>(thread));
    stat_ = own_descriptor(open(text, O_RDONLY | O_CLOEXEC));
    thread_ = thread;
  }
  const ssize_t n = stat_ < 0 ? -1 : syscall(SYS_pread64, stat_, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = 0;
  constexpr unsigned kBehindName =
      37; // of the fields, as proc_pid_stat(5) counts them from 1, the name is 2 and the processor 39
  const char *at = strrchr(text, ')');
  for (unsigned i = 0; i < kBehindName && at; ++i) at = strchr(at + 1, ' ');
  return at ? atoi(at) : -1;
}

void ThreadPlace::forked() {
  close_own(stat_);
  stat_ = -1;
  thread_ = 0;
}

/// A thread for the entry of `starts`. 0 or -errno.
static int create_thread(ThreadStart &start) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  threads_running.fetch_add(1);
  const int error = pthread_create(&thread, &attributes, thread_main, &start);
  if (error) threads_running.fetch_sub(1);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return -error;
}

void park_threads() {
  for (parked = 0; parked < std::size(starts) && create_thread(starts[parked]) == 0;) ++parked;
}

int start_thread(const char *name, void (*body)()) {
  if (threads_started == std::size(starts)) return -EAGAIN;
  const bool waits = threads_started < parked;
  ThreadStart &start = starts[threads_started++];
  start.name = name;
  start.body = body;
  __atomic_store_n(&start.given, 1, __ATOMIC_RELEASE);
  if (!waits) return create_thread(start);
  syscall(SYS_futex, &start.given, FUTEX_WAKE_PRIVATE, 1);
  return 0;
}

unsigned thread_vectors(const uint64_t **vectors, unsigned most) {
  constexpr unsigned kTimes = 2000;
  constexpr uint64_t kPause = 50000;
  unsigned n = 0;
  for (unsigned i = 0; i < std::max(threads_started, parked) && n < most; ++i) {
    // A thread that has just been made tells it when it first runs.
    for (unsigned times = 0; times < kTimes && !__atomic_load_n(&starts[i].vector, __ATOMIC_ACQUIRE); ++times) sleep(kPause);
    if (starts[i].vector) vectors[n++] = starts[i].vector;
  }
  return n;
}

unsigned own_threads() { return threads_running.load(); }

int thread_id() {
  if (!number && !sandboxed()) number = static_cast<int>(syscall(SYS_gettid));
  return number;
}

bool has_thread(int id) { return id == 0 || syscall(SYS_tgkill, getpid(), id, 0) == 0; }

void threads_forked() {
  number = 0;
  attendant = 0;
  CPU_ZERO(&unattended);
  // The C library keeps the stacks of the threads that are not here for those that the child starts, which need no heap then.
  threads_started = parked = 0;
  for (ThreadStart &start : starts) start = {};
  threads_running.store(0);
}

namespace {

/// What the kernel says of the calling thread; empty if it does not.
struct ThreadStatus {
  char text[4096];
  ThreadStatus() {
    const int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
  }
};

} // namespace

bool filtered() { return !strstr(ThreadStatus().text, "\nSeccomp:\t0\n"); }

uint64_t handled_signals() {
  constexpr uint64_t kCancel = 1ull << 31, kSetxid = 1ull << 32; // signals 32 and 33, which the C library keeps to itself
  const ThreadStatus status;
  const char *line = strstr(status.text, "\nSigCgt:\t");
  return line ? strtoull(line + 9, nullptr, 16) & ~(kCancel | kSetxid) : ~0ull;
}

bool child_survives(void (*body)()) {
  // Without a signal at its end, and found by no wait of the program's.
  const long child = syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0);
  if (child == 0) {
    signal(SIGSYS, SIG_DFL);
    body();
    syscall(SYS_exit_group, 0);
  }
  int status = -1;
  while (child > 0 && syscall(SYS_wait4, child, &status, __WALL, nullptr) < 0 && errno == EINTR) continue;
  return child > 0 && status == 0;
}

void sleep(uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  nanosleep(&t, nullptr);
}

int process_id() { return getpid(); }

const char *program_path() {
  static char path[512]; // the same whoever fills it
  if (!*path && readlink("/proc/self/exe", path, sizeof path - 1) < 0) return "";
  return path;
}

UsedTime used_time() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval &t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return {seconds(use.ru_utime), seconds(use.ru_stime)};
}

bool handler_stack(HandlerStack *stack) {
  stack_t handlers{};
  if (sigaltstack(nullptr, &handlers)) return false;
  *stack = {static_cast<const char *>(handlers.ss_sp), handlers.ss_size, (handlers.ss_flags & SS_ONSTACK) != 0};
  return true;
}

} // namespace pagecast::os
