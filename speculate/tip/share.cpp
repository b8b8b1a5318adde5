// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/tip/share.h"
#include "speculate/watch/proc.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pagecast::speculate {
namespace {

constexpr uint64_t kPage = 4096, kUnlimited = uint64_t{1} << 60;

/// Where the control group's files are, of either version.
struct Group {
  char directory[512] = ""; ///< empty: none
  bool second = false;

  static Group of_this_process() {
    Group found;
    char text[4096];
    if (!read_whole("/proc/self/cgroup", text, sizeof text)) return found;
    if (const char *const first = strstr(text, ":memory:")) found.set("/sys/fs/cgroup/memory", first + 8);
    else if (const char *const unified = strstr(text, "0::")) {
      found.second = true;
      found.set("/sys/fs/cgroup", unified + 3);
    }
    return found;
  }
  uint64_t number(const char *name, uint64_t missing) const {
    char path[600], text[64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (!directory[0] || !read_whole(path, text, sizeof text) || text[0] < '0' || text[0] > '9') return missing;
    return strtoull(text, nullptr, 10);
  }
  /// memory.stat: lines of "name number". "" where there is none.
  const char *facts() const {
    static thread_local char text[16384];
    char path[600];
    snprintf(path, sizeof path, "%s/memory.stat", directory);
    return directory[0] && read_whole(path, text, sizeof text) ? text : "";
  }
  uint64_t limit() const { return number(second ? "memory.max" : "memory.limit_in_bytes", kUnlimited); }
  uint64_t used() const { return number(second ? "memory.current" : "memory.usage_in_bytes", 0); }
  uint64_t cached() const {
    const char *const text = facts();
    return field(text, second ? "inactive_file" : "total_inactive_file", 0, ' ') +
           field(text, second ? "active_file" : "total_active_file", 0, ' ');
  }

private:
  void set(const char *root, const char *path) {
    const char *const end = strchr(path, '\n');
    const int length = end ? static_cast<int>(end - path) : static_cast<int>(strlen(path));
    snprintf(directory, sizeof directory, "%s%.*s", root, length, path);
  }
};

uint64_t left_on_the_machine() {
  char text[4096];
  return read_whole("/proc/meminfo", text, sizeof text) ? field(text, "MemAvailable", 1 << 20) << 10 : 1u << 30;
}

} // namespace

uint64_t memory_left() {
  const uint64_t machine = left_on_the_machine();
  const Group group = Group::of_this_process();
  const uint64_t limit = group.limit();
  if (limit >= kUnlimited) return machine;
  const uint64_t used = group.used(), cached = group.cached(), kept = used > cached ? used - cached : 0;
  return std::min(machine, limit > kept ? limit - kept : 0);
}

uint64_t bytes_refaulted() {
  const Group group = Group::of_this_process();
  if (group.limit() < kUnlimited)
    return field(group.facts(), group.second ? "workingset_refault_file" : "total_workingset_refault_file", 0, ' ') * kPage;
  static thread_local char text[16384];
  return read_whole("/proc/vmstat", text, sizeof text) ? field(text, "workingset_refault_file", 0, ' ') * kPage : 0;
}

} // namespace pagecast::speculate
