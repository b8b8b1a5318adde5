// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/nbd/helper_start.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <initializer_list>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace pagecast::os {
namespace {

constexpr size_t kStack = 64u << 10;
constexpr unsigned kMostDescriptors = 8;
constexpr int kAside = 16; ///< numbers from here on are not in the helper's way

struct Helper {
  const char *path = nullptr;
  char **environment = nullptr;
} helper;

struct Start {
  const int *descriptors;
  unsigned count;
  char *stack; ///< of who becomes the helper
  int error;
};

/// For paged programs, and for what is loaded into them.
bool is_ours(const char *variable) {
  for (const char *name : {"PAGECAST_", "LD_PRELOAD=", "LD_AUDIT=", "GLIBC_TUNABLES=", "MALLOC_"})
    if (!strncmp(variable, name, strlen(name))) return true;
  return false;
}

/// Who becomes the helper. The program's memory is its own until then, and the program's thread holds still: it stores to nothing.
int become_helper(void *data) {
  auto &start = *static_cast<Start *>(data);
  long aside[kMostDescriptors];
  for (unsigned i = 0; i < start.count; ++i) aside[i] = syscall(SYS_fcntl, start.descriptors[i], F_DUPFD, kAside);
  for (unsigned i = 0; i < start.count; ++i) syscall(SYS_dup3, aside[i], 3 + i, 0);
  for (unsigned i = 0; i < start.count; ++i) syscall(SYS_close, aside[i]);
  syscall(SYS_setsid);
  const char *arguments[] = {"pagecast-nbd", "serve", nullptr};
  syscall(SYS_execve, helper.path, arguments, helper.environment);
  start.error = errno;
  syscall(SYS_exit_group, 127);
  return 0;
}

/// A child that ends at once, so that the helper is nobody's child.
int stand_between(void *data) {
  auto &start = *static_cast<Start *>(data);
  if (clone(become_helper, start.stack + kStack, CLONE_VM | CLONE_VFORK, data) < 0) start.error = errno;
  syscall(SYS_exit_group, 0);
  return 0;
}

} // namespace

bool note_helper(const char *path) {
  size_t variables = 1, bytes = strlen(path) + 1;
  for (char **v = environ; *v; ++v) ++variables, bytes += strlen(*v) + 1;
  auto **list = static_cast<char **>(map_memory(variables * sizeof(char *) + bytes, false));
  if (!list) return false;
  char *text = reinterpret_cast<char *>(list + variables);
  helper.environment = list;
  for (char **v = environ; *v && static_cast<size_t>(list - helper.environment) + 1 < variables; ++v) {
    if (is_ours(*v)) continue;
    const size_t length = strlen(*v) + 1;
    *list++ = static_cast<char *>(memcpy(text, *v, length));
    text += length;
  }
  helper.path = static_cast<char *>(memcpy(text, path, strlen(path) + 1));
  return true;
}

bool has_helper() { return helper.path; }

int start_helper(const int *descriptors, unsigned count) {
  if (!helper.path || count > kMostDescriptors) return -ENOENT;
  auto *stacks = static_cast<char *>(map_memory(2 * kStack, false));
  if (!stacks) return -ENOMEM;
  Start start = {descriptors, count, stacks + kStack, 0};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Without a signal at its end, and found by no wait of the program's.
  const int child = clone(stand_between, stacks + kStack, CLONE_VM | CLONE_VFORK, &start);
  if (child < 0) start.error = errno;
  while (child > 0 && syscall(SYS_wait4, child, nullptr, __WALL, nullptr) < 0 && errno == EINTR) continue;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  unmap(stacks, 2 * kStack);
  return -start.error;
}

int make_shared_memory(const char *name, uint64_t bytes) {
  const int fd = static_cast<int>(syscall(SYS_memfd_create, name, MFD_CLOEXEC));
  if (fd < 0) return -errno;
  if (syscall(SYS_ftruncate, fd, bytes) == 0) return own_descriptor(fd);
  const int error = errno;
  syscall(SYS_close, fd);
  return -error;
}

char *map_shared_memory(int fd, uint64_t bytes, void *at) {
  const long p = syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE | (at ? MAP_FIXED : 0), fd, 0);
  return p == -1 ? nullptr : reinterpret_cast<char *>(p);
}

void *reserve_shared(uint64_t bytes) {
  const long p = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  return p == -1 ? nullptr : reinterpret_cast<void *>(p);
}

int claim(const char *name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int n = write_text(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name); // not in any directory
  const int fd = static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd < 0) return -errno;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
  if (syscall(SYS_bind, fd, &address, length) == 0) return own_descriptor(fd);
  const int error = errno;
  syscall(SYS_close, fd);
  return -error;
}

int open_of_process(int process, int descriptor) {
  char path[64];
  write_text(path, sizeof path, "/proc/%d/fd/%d", process, descriptor);
  const long fd =
      syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK); // a pipe that we could read breaks for nobody
  return fd < 0 ? -errno : own_descriptor(static_cast<int>(fd));
}

void wait_for_other_process(const std::atomic<uint32_t> *word, uint32_t value, uint64_t ns) {
  const timespec time = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &time, nullptr, 0);
}

void write_byte(int fd) {
  const char byte = 0;
  syscall(SYS_write, fd, &byte, 1);
}

} // namespace pagecast::os
