// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that this process shares with others, now: the machine's, and that of each control group with a limit
// on the way up the tree (version 1 or 2). The files stay open: a look costs 10 us and 12 us for each such group.
#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <initializer_list>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::os {
namespace {

constexpr uint64_t kFewBytes = 1u << 20; ///< of others, that shells and launchers have
/// Page cache that is taken for code: more than executables and libraries have that are started cold (5 MiB).
constexpr uint64_t kUsualFiles = 8u << 20;
constexpr uint64_t kSomeFiles = 2u << 20; ///< of so much, files are being read, perhaps
constexpr uint64_t kNoLimit = 1ull << 60; ///< version 1 writes "no limit" as a number near 2^63, version 2 as "max"

int open_in(const char *directory, const char *file, int how = O_RDONLY) {
  char path[1200];
  write_text(path, sizeof path, "%s/%s", directory, file);
  return own_descriptor(open(path, how | O_CLOEXEC));
}

/// The beginning of a small file. False if there is none.
bool read_text(int fd, char *text, size_t capacity) {
  const ssize_t n = fd < 0 ? -1 : syscall(SYS_pread64, fd, text, capacity - 1, 0);
  text[n > 0 ? n : 0] = 0;
  return n > 0;
}

/// The number at the beginning of the line that begins with `name`; 0 if there is no such line.
uint64_t number_after(const char *text, const char *name) {
  const size_t length = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (!strncmp(line, name, length)) return strtoull(line + length, nullptr, 10);
  }
  return 0;
}

uint64_t read_limit(int fd) {
  char text[64];
  if (!read_text(fd, text, sizeof text) || !strncmp(text, "max", 3)) return kNoLimit;
  const uint64_t limit = strtoull(text, nullptr, 10);
  return limit && limit < kNoLimit ? limit : kNoLimit; // 0: no number
}

/// Since boot, that somebody waited for memory.
uint64_t read_stalled_ns(int fd) {
  char text[256];
  if (!read_text(fd, text, sizeof text)) return 0;
  const char *total = strstr(text, "total="); // of the first line, "some"
  return total ? strtoull(total + 6, nullptr, 10) * 1000 : 0;
}

/// Waits of this process for pages of files, code among them.
uint64_t waits_for_files() {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<uint64_t>(usage.ru_majflt) : 0;
}

/// How often a group's limit was hit, and 1; 0 if that is not known.
uint64_t read_hits(int fd, bool v2) {
  char text[256];
  if (!read_text(fd, text, sizeof text)) return 0;
  return 1 + (v2 ? number_after(text, "max ") : strtoull(text, nullptr, 10));
}

uint64_t anonymous_bytes(int statm) {
  char text[128];
  char *at = text;
  if (read_text(statm, text, sizeof text)) strtoull(at, &at, 10); // the size of the address space
  const uint64_t resident = strtoull(at, &at, 10), shared = strtoull(at, &at, 10);
  return resident > shared ? (resident - shared) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

/// Whether `name` is one of a list with commas.
bool is_listed(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (!strncmp(at, name, length) && (at[length] == 0 || at[length] == ',')) return true;
  }
  return false;
}

/// The group's path in the controller's hierarchy, from /proc/self/cgroup; version 1 lines name the controllers.
bool group_path(const char *controller, char *directory, size_t capacity, bool *v2) {
  char text[4096];
  const int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
  const bool there = read_text(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  if (!there) return false;
  for (char *line = text, *save = nullptr; (line = strtok_r(line, "\n", &save)); line = nullptr) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!path) continue;
    *path++ = 0;
    if (is_listed(controllers + 1, controller)) {
      *v2 = false;
      write_text(directory, capacity, "/sys/fs/cgroup/%s%s", controller, path);
      return true;
    }
    if (controllers[1] == 0) {
      *v2 = true;
      write_text(directory, capacity, "/sys/fs/cgroup%s", path);
    }
  }
  return *v2;
}

/// Bytes that the kernel reads at once, ahead of who reads a file: the most of all devices, since it is not known which ones will be
/// read. The kernel's usual 128 KiB if that is not told. Without allocation.
uint64_t largest_read_ahead() {
  constexpr uint64_t kUsual = 128u << 10;
  constexpr char kDevices[] = "/sys/class/bdi";
  const int devices = ::open(kDevices, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  uint64_t out = kUsual;
  alignas(dirent64) char entries[2048];
  for (long n; (n = syscall(SYS_getdents64, devices, entries, sizeof entries)) > 0;)
    for (const char *at = entries; at < entries + n; at += reinterpret_cast<const dirent64 *>(at)->d_reclen) {
      char path[300], text[32];
      write_text(path, sizeof path, "%s/%s/read_ahead_kb", kDevices, reinterpret_cast<const dirent64 *>(at)->d_name);
      const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
      if (read_text(fd, text, sizeof text)) out = std::max<uint64_t>(out, strtoull(text, nullptr, 10) << 10);
      if (fd >= 0) ::close(fd);
    }
  if (devices >= 0) ::close(devices);
  return out;
}

/// What is left of a group when it is to tell: less than the reserve, which the program itself comes close to, so that it
/// is somebody else who takes it.
uint64_t alarm(uint64_t limit) { return core::reserve({false, limit, limit, 0, false, false}) / 4 * 3; }

/// Page cache that a group has though no files are read in it: kUsualFiles, but below what the usual reserve and the part of
/// 1/65 leave free, since in a small group it cannot grow beyond that.
uint64_t usual_files(uint64_t limit) { return std::min(kUsualFiles, core::reserve({false, limit, limit, 0}) / 4 * 5); }

} // namespace

/// The group's limit, the lower one where it has two.
uint64_t MemoryWatch::limit_of(const Group &g) {
  const uint64_t most = read_limit(g.limit);
  return g.high < 0 ? most : std::min(most, read_limit(g.high));
}

/// Whether others in the group hold memory that is not of files, beside this process, and there is swap for it.
bool MemoryWatch::may_swap_others(const Group &g, uint64_t limit, const char *stat) const {
  const uint64_t all = number_after(stat, v2_ ? "anon " : "total_rss ");
  char text[64];
  if (all <= anonymous_bytes(statm_) + kFewBytes || !read_text(g.swap, text, sizeof text)) return false;
  return v2_ ? text[0] != '0' : read_limit(g.swap) > limit + kFewBytes; // version 1: memory and swap together
}

bool MemoryWatch::moved() {
  if (groups_) next_asked_ = (next_asked_ + 1) % groups_;
  for (unsigned i = 0; i < groups_; ++i) {
    const bool limited = group_[i].seen_limit != kNoLimit;
    if ((i == next_asked_ || limited) && limit_of(group_[i]) != group_[i].seen_limit) return true;
    if (limited && is_filled(group_[i])) return true;
  }
  return false;
}

/// Whether less is left than the half of what is kept free, unless that was so at the last look.
bool MemoryWatch::is_filled(const Group &g) {
  char text[64];
  return g.seen_filled && read_text(g.usage, text, sizeof text) && strtoull(text, nullptr, 10) > g.seen_filled;
}

/// Has the kernel post the event when use passes the point where alarm() is left, and when it passes half of that.
/// What it was told of another limit stays, and costs a look too many. A limit that moves all the time is not followed.
void MemoryWatch::set_alarms(Group &g, uint64_t limit) {
  const bool moves = g.alarm_settings && limit != g.seen_limit;
  g.seen_limit = limit;
  if (g.control < 0 || moves || limit == g.alarm_limit || limit == kNoLimit || g.alarm_settings == kMostAlarmSettings) return;
  ++g.alarm_settings;
  g.alarm_limit = limit;
  const uint64_t kept = alarm(limit);
  g.tells = kept < limit;
  for (const uint64_t left : {kept, kept / 2}) {
    char line[64];
    const int n = write_text(line, sizeof line, "%d %d %llu", event_, g.usage, static_cast<unsigned long long>(limit - left));
    g.tells = g.tells && ::write(g.control, line, static_cast<size_t>(n)) == n;
  }
}

/// Reclaim that finds nothing tells. In version 1 a limit that is to fall below the use is refused then: nothing else shows that.
void MemoryWatch::watch_refusals(const Group &g, const char *directory) {
  if (g.control < 0) return;
  const int level = open_in(directory, "memory.pressure_level");
  for (const int fd : {refused_, event_}) {
    char line[64];
    const int n = write_text(line, sizeof line, "%d %d critical", fd, level);
    if (fd < 0 || level < 0 || ::write(g.control, line, static_cast<size_t>(n)) != n) break;
  }
  close_own(level);
}

void MemoryWatch::forked() {
  event_ = -1;
  refused_ = -1;
  for (int *of_parent : {&statm_, &io_}) {
    close_own(*of_parent);
    *of_parent = -1;
  }
  for (Group &g : group_) {
    close_own(g.control);
    g.control = -1;
    g.tells = false;
  }
}

void MemoryWatch::open(int event, int refused) { open_files(event, refused, false); }

void MemoryWatch::open_for_a_look() { open_files(-1, -1, true); }

void MemoryWatch::open_files(int event, int refused, bool for_a_look) {
  event_ = event;
  refused_ = refused;
  meminfo_ = own_descriptor(::open("/proc/meminfo", O_RDONLY | O_CLOEXEC));
  pressure_ = own_descriptor(::open("/proc/pressure/memory", O_RDONLY | O_CLOEXEC));
  statm_ = own_descriptor(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  io_ = own_descriptor(::open("/proc/self/io", O_RDONLY | O_CLOEXEC));
  char directory[1024];
  if (!group_path("memory", directory, sizeof directory, &v2_)) return;
  const size_t root = strlen(v2_ ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
  while (strlen(directory) >= root && groups_ < kMostGroups) {
    Group &g = group_[groups_];
    g = {};
    g.limit = open_in(directory, v2_ ? "memory.max" : "memory.limit_in_bytes");
    if (g.limit >= 0) { // else it is the root of version 2, or not to be seen from within a container
      g.high = v2_ ? open_in(directory, "memory.high") : -1;
    }
    if (g.limit >= 0 && !(for_a_look && limit_of(g) == kNoLimit)) {
      g.usage = open_in(directory, v2_ ? "memory.current" : "memory.usage_in_bytes");
      g.stat = open_in(directory, "memory.stat");
      g.swap = open_in(directory, v2_ ? "memory.swap.max" : "memory.memsw.limit_in_bytes");
      g.hits = open_in(directory, v2_ ? "memory.events" : "memory.failcnt");
      g.pressure = v2_ ? open_in(directory, "memory.pressure") : -1;
      g.control = v2_ || event_ < 0 ? -1 : open_in(directory, "cgroup.event_control", O_WRONLY);
      watch_refusals(g, directory);
    }
    groups_ += g.limit >= 0;
    char *slash = strrchr(directory, '/');
    if (!slash || slash == directory) break;
    *slash = 0;
  }
}

void MemoryWatch::mind_files() { read_ahead_ = largest_read_ahead(); }

void MemoryWatch::close() {
  for (const int fd : {meminfo_, pressure_, statm_, io_}) close_own(fd);
  for (unsigned i = 0; i < groups_; ++i)
    for (const int fd : {group_[i].limit, group_[i].high, group_[i].usage, group_[i].stat, group_[i].pressure, group_[i].control,
                         group_[i].swap, group_[i].hits})
      close_own(fd);
  *this = MemoryWatch();
}

unsigned MemoryWatch::look(core::Pool *pools, uint64_t files_read, bool maps_files) {
  char text[8192];
  unsigned n = 0;
  swaps_ = beside_others_ = false;
  core::CodeReads code{.waits = waits_for_files(), .maps_data = maps_files};
  if (groups_ && read_text(io_, text, 256)) code.by_faults = fault_reads_.update(files_read, number_after(text, "rchar:"));
  if (uint64_t posted = 0; refused_ >= 0 && syscall(SYS_read, refused_, &posted, sizeof posted) > 0) refusals_ += posted;
  if (read_text(meminfo_, text, 1024)) {
    swaps_ = statm_ >= 0 && number_after(text, "SwapTotal:") != 0;
    const uint64_t size = number_after(text, "MemTotal:") * 1024, free = number_after(text, "MemAvailable:") * 1024;
    // Where much is free, nobody stalls for the lack of it but inside control groups: not looked at, which saves time.
    if (size) pools[n++] = {true, size, free, free > size / 4 ? 0 : read_stalled_ns(pressure_)};
  }
  for (unsigned i = 0; i < groups_; ++i) {
    Group &g = group_[i];
    const uint64_t limit = limit_of(g);
    core::Pool &p = pools[n++];
    p = {false, limit, limit, 0};
    p.files_read = files_read;
    p.read_ahead = read_ahead_;
    set_alarms(g, limit);
    if (limit == kNoLimit || !read_text(g.usage, text, 64)) continue;
    const uint64_t usage = strtoull(text, nullptr, 10);
    uint64_t cache = 0; // that reclaim gets easily; of what is in use, half
    if (read_text(g.stat, text, sizeof text)) {
      const uint64_t inactive = number_after(text, v2_ ? "inactive_file " : "total_inactive_file "),
                     active = number_after(text, v2_ ? "active_file " : "total_active_file ");
      cache = inactive + active / 2;
      p.shared = helped_ || statm_ < 0 || number_after(text, v2_ ? "anon " : "total_rss ") > anonymous_bytes(statm_) + kFewBytes;
      const bool others = swaps_ && inactive + active > kSomeFiles && may_swap_others(g, limit, text);
      const uint64_t usual = usual_files(limit);
      p.read = others && inactive + active > usual ? inactive + active - usual : 0;
      beside_others_ |= others;
      code.again = 1 + number_after(text, v2_ ? "workingset_refault_file " : "total_workingset_refault_file ");
      code.cache = inactive + active;
      p.code = code;
      if (!maps_files && !p.shared) p.code_waits = 1 + number_after(text, v2_ ? "pgmajfault " : "total_pgmajfault ");
    }
    if (cache < kFewBytes && !p.shared) // else it is page cache that hits the limit, and goes then
      p.hits = read_hits(g.hits, v2_) + refusals_;
    const uint64_t firm = usage > cache ? usage - cache : 0;
    p.free = limit > firm ? limit - firm : 0;
    const uint64_t kept = core::reserve(p) / 2;
    g.seen_filled = p.free > kept ? usage + p.free - kept : 0;
    p.stalled_ns = read_stalled_ns(g.pressure);
    // Where others' page cache fills the group, its use is past the alarms already, and says nothing of who needs memory.
    p.tells = g.tells && limit == g.alarm_limit && usage + alarm(limit) <= limit;
  }
  return n;
}

// --- processors -----------------------------------------------------------------------------------

/// Whether a control group of this process, on the way up the tree, may use only a part of the processors' time.
static bool has_quota() {
  char directory[1024], text[64];
  bool v2 = false;
  if (!group_path("cpu", directory, sizeof directory, &v2)) return false;
  const size_t root = strlen(v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
  while (strlen(directory) >= root) {
    const int fd = open_in(directory, v2 ? "cpu.max" : "cpu.cfs_quota_us");
    const bool known = read_text(fd, text, sizeof text);
    close_own(fd);
    if (known && strncmp(text, v2 ? "max" : "-1", v2 ? 3 : 2) != 0) return true;
    char *slash = strrchr(directory, '/');
    if (!slash || slash == directory) break;
    *slash = 0;
  }
  return false;
}

static unsigned usable_processors() {
  cpu_set_t set;
  if (has_quota() || sched_getaffinity(0, sizeof set, &set)) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

void Processors::open() {
  *this = Processors();
  running_ = own_descriptor(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
}

unsigned Processors::usable(uint64_t now) {
  constexpr uint64_t kEvery = 1'000'000'000;
  if (counted_ns_ == 0 || now - counted_ns_ > kEvery) {
    counted_ns_ = now;
    usable_ = usable_processors();
  }
  return usable_;
}

unsigned Processors::running() const {
  char text[64]; // "0.20 0.18 0.12 1/80 11206"
  if (!read_text(running_, text, sizeof text)) return 0;
  const char *slash = strchr(text, '/');
  while (slash && slash > text && slash[-1] != ' ') --slash;
  return slash ? static_cast<unsigned>(strtoul(slash, nullptr, 10)) : 0;
}

unsigned own_children() {
  char text[512]; // "4711 4712 ": of more than fit here, the others change nothing any more
  const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  const bool read = fd >= 0 && read_text(fd, text, sizeof text);
  if (fd >= 0) ::close(fd);
  return read ? static_cast<unsigned>(std::count(text, text + strlen(text), ' ')) : 0;
}

uint64_t own_anonymous_bytes() {
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const uint64_t bytes = anonymous_bytes(fd);
  if (fd >= 0) ::close(fd);
  return bytes;
}

} // namespace pagecast::os
