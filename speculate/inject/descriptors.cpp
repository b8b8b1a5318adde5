// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/descriptors.h"
#include "speculate/watch/proc.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr unsigned kListed = 4096; ///< numbers that are looked at before they are sorted

unsigned list_numbers(pid_t process, int *to, unsigned capacity) {
  const unsigned count = numbers_in(process, "fd", to, capacity);
  std::sort(to, to + count);
  return count;
}

bool read_info(pid_t process, int number, int64_t *position, uint32_t *flags, bool *leased = nullptr) {
  char path[64], text[2048];
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", process, number);
  if (!read_whole(path, text, sizeof text)) return false;
  const char *const found = strstr(text, "flags:");
  *position = static_cast<int64_t>(field(text, "pos", 0));
  *flags = found ? static_cast<uint32_t>(strtoul(found + 6, nullptr, 8)) : 0;
  if (leased) *leased = strstr(text, " LEASE ") != nullptr;
  return true;
}

DescriptorKind kind_of(const struct stat &facts) {
  if (S_ISREG(facts.st_mode)) return DescriptorKind::kRegular;
  if (S_ISDIR(facts.st_mode)) return DescriptorKind::kDirectory;
  if (S_ISCHR(facts.st_mode) && facts.st_rdev == makedev(1, 3)) return DescriptorKind::kNull;
  return DescriptorKind::kOther;
}

bool is_own_io(const char *target) {
  return !strncmp(target, "anon_inode:[io_uring]", 21) || !strncmp(target, "anon_inode:[userfaultfd]", 24);
}

void describe(pid_t process, int number, DescriptorOrder *to, bool *own_io) {
  memset(to, 0, sizeof *to);
  to->number = number;
  to->kind = DescriptorKind::kOther;
  char path[64], target[sizeof to->path];
  struct stat facts;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", process, number);
  bool leased = false;
  if (stat(path, &facts) || !read_info(process, number, &to->position, &to->flags, &leased)) return;
  if (leased) return; // to open it again would break the lease, of which its holder is told
  if ((to->flags & O_PATH) == 0) to->kind = kind_of(facts);
  const ssize_t length = readlink(path, target, sizeof target);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof target) return;
  target[length] = 0;
  if (target[0] == '/' && !strstr(target, " (deleted)")) memcpy(to->path, target, static_cast<size_t>(length) + 1);
  if (is_own_io(target)) *own_io = true;
}

} // namespace

bool has_own_io(pid_t process) {
  static int numbers[kListed]; // only the controller's first thread asks
  const unsigned listed = numbers_in(process, "fd", numbers, kListed);
  char path[64], target[32];
  for (unsigned i = 0; i < listed; i++) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", process, numbers[i]);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    target[std::max<ssize_t>(length, 0)] = 0;
    if (is_own_io(target)) return true;
  }
  return false;
}

void Positions::read(pid_t process) {
  int numbers[kMost];
  const unsigned listed = list_numbers(process, numbers, kMost);
  count = 0;
  for (unsigned i = 0; i < listed; i++) {
    uint32_t flags;
    number[count] = numbers[i];
    if (read_info(process, numbers[i], &position[count], &flags)) count++;
  }
}

bool list_descriptors(pid_t clone, const Positions &positions, Descriptors *to) {
  static int numbers[kListed];
  const unsigned listed = list_numbers(clone, numbers, kListed);
  to->count = 0;
  to->own_io = false;
  for (unsigned i = 0; i < listed && to->count < kMaxDescriptors; i++) {
    DescriptorOrder &order = to->order[to->count];
    describe(clone, numbers[i], &order, &to->own_io);
    for (unsigned k = 0; k < positions.count; k++)
      if (positions.number[k] == numbers[i]) order.position = positions.position[k];
    to->count++;
  }
  return listed > 0 || access("/proc/self", F_OK) == 0;
}

} // namespace pagecast::speculate
