// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory limits in force for this process: cgroup v1 or v2, every level up the tree, and the machine.
#include "runtime/os.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace pagecast::os {
namespace {

/// Reads a small file whole, without stdio's buffers. Returns its length or -1.
long read_file(const char *path, char *text, size_t room) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  size_t length = 0;
  for (ssize_t n; length + 1 < room && (n = read(fd, text + length, room - 1 - length)) > 0;)
    length += static_cast<size_t>(n);
  close(fd);
  text[length] = 0;
  return static_cast<long>(length);
}

bool read_number(const char *directory, const char *file, uint64_t *number) {
  char path[1200], text[64];
  snprintf(path, sizeof path, "%s/%s", directory, file);
  if (read_file(path, text, sizeof text) <= 0) return false;
  if (!strncmp(text, "max", 3)) return *number = ~0ull, true;
  *number = strtoull(text, nullptr, 10);
  return true;
}

/// Anonymous memory of the group and below: what reclaim cannot take without swap.
uint64_t anonymous_bytes(const char *directory, bool v2) {
  char path[1200], text[8192];
  snprintf(path, sizeof path, "%s/memory.stat", directory);
  if (read_file(path, text, sizeof text) <= 0) return 0;
  const char *name = v2 ? "anon " : "total_rss ";
  for (const char *line = text; line; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (!strncmp(line, name, strlen(name))) return strtoull(line + strlen(name), nullptr, 10);
  }
  return 0;
}

/// The group's path in the memory hierarchy, from /proc/self/cgroup; v1 lines name the controller.
bool group_path(char *directory, size_t room, bool *v2) {
  char text[4096];
  if (read_file("/proc/self/cgroup", text, sizeof text) <= 0) return false;
  for (char *line = text, *save = nullptr; (line = strtok_r(line, "\n", &save)); line = nullptr) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!path) continue;
    *path++ = 0;
    if (strcmp(controllers + 1, "memory") == 0) {
      *v2 = false;
      snprintf(directory, room, "/sys/fs/cgroup/memory%s", path);
      return true;
    }
    if (controllers[1] == 0) {
      *v2 = true;
      snprintf(directory, room, "/sys/fs/cgroup%s", path);
    }
  }
  return *v2;
}

uint64_t available_memory() {
  char text[4096];
  if (read_file("/proc/meminfo", text, sizeof text) <= 0) return 0;
  const char *line = strstr(text, "MemAvailable:");
  return line ? strtoull(line + 13, nullptr, 10) * 1024 : 0;
}

} // namespace

Limits limits() {
  Limits found;
  found.available = available_memory();
  char directory[1024];
  bool v2 = false;
  if (!group_path(directory, sizeof directory, &v2)) return found;
  const size_t root = strlen(v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
  const char *limit_file = v2 ? "memory.max" : "memory.limit_in_bytes";
  while (strlen(directory) >= root) {
    uint64_t limit;
    // v1 writes "no limit" as a number near 2^63.
    if (read_number(directory, limit_file, &limit) && limit < (1ull << 60) && limit < found.cgroup_limit) {
      found.cgroup_limit = limit;
      found.cgroup_usage = anonymous_bytes(directory, v2);
    }
    char *slash = strrchr(directory, '/');
    if (!slash || slash == directory) break;
    *slash = 0;
  }
  return found;
}

} // namespace pagecast::os
