// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/proc.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <initializer_list>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr uint64_t kLeastPassed = 16000000; ///< ns: processor time is accounted in ticks of up to 4 ms (of 10 ms on some hosts)

bool open_for(KeptFile &file, pid_t process, pid_t thread, const char *name) {
  char path[80];
  snprintf(path, sizeof path, "/proc/%d/task/%d/%s", process, thread, name);
  return file.open(path);
}

} // namespace

unsigned read_whole(const char *path, char *to, unsigned capacity) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  unsigned length = 0;
  ssize_t n;
  while (length + 1 < capacity && (n = ::read(file, to + length, capacity - 1 - length)) > 0) length += static_cast<unsigned>(n);
  ::close(file);
  to[length] = 0;
  return length;
}

uint64_t field(const char *text, const char *name, uint64_t missing, char separator) {
  const size_t length = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (!strncmp(line, name, length) && line[length] == separator) return strtoull(line + length + 1, nullptr, 10);
    if (!*line) break;
  }
  return missing;
}

bool KeptFile::open(const char *path) {
  file_ = ::open(path, O_RDONLY | O_CLOEXEC);
  return is_open();
}

void KeptFile::close() {
  if (is_open()) ::close(file_);
  file_ = -1;
}

unsigned KeptFile::read(char *to, unsigned capacity) const {
  const ssize_t n = is_open() ? pread(file_, to, capacity - 1, 0) : 0;
  to[n > 0 ? n : 0] = 0;
  return n > 0 ? static_cast<unsigned>(n) : 0;
}

bool Thread::open(pid_t process, pid_t thread) {
  process_ = process;
  thread_ = thread;
  open_for(runs_, process, thread, "schedstat"); // which not every kernel has
  if (open_for(stat_, process, thread, "stat") && open_for(call_, process, thread, "syscall")) return true;
  close();
  return false;
}

void Thread::close() {
  for (KeptFile *const file : {&stat_, &runs_, &call_, &io_}) file->close();
}

Look Thread::look() const {
  char text[512];
  Look seen;
  if (!stat_.read(text, sizeof text)) return seen;
  const char *const name_end = strrchr(text, ')');
  if (!name_end || !name_end[1]) return seen;
  seen.alive = true;
  seen.state = name_end[2];
  read_runs(&seen);
  return seen;
}

bool Thread::read_runs(Look *to) const {
  char text[128];
  if (!runs_.read(text, sizeof text)) return false;
  to->ran = strtoull(text, nullptr, 10);
  const char *const last = strrchr(text, ' ');
  if (last) to->runs = strtoull(last + 1, nullptr, 10);
  return true;
}

Look Thread::look(const Look &last, uint64_t passed) const {
  Look seen;
  if (passed < kLeastPassed || last.state != 'R' || !read_runs(&seen) || seen.ran - last.ran < passed - passed / 4) return look();
  seen.alive = true;
  seen.state = 'R';
  return seen;
}

Call Thread::call() const {
  char text[256];
  Call seen;
  if (!call_.read(text, sizeof text) || text[0] == 'r') return seen; // "running"
  char *at = text;
  seen.number = strtol(at, &at, 10);
  seen.known = true;
  if (seen.number < 0) return seen;
  for (uint64_t &argument : seen.argument) argument = strtoull(at, &at, 16);
  return seen;
}

bool Thread::is_ending() const {
  const Look seen = look();
  return !seen.alive || seen.state == 'Z' || seen.state == 'X' || pagecast::speculate::is_ending(process_);
}

bool Thread::works_for_ring() const {
  constexpr int kFlags = 9;                // as numbered in proc(5)
  constexpr unsigned long kWorker = 0x10; // PF_IO_WORKER
  char text[512];
  if (process_ == thread_ || !stat_.read(text, sizeof text)) return false;
  const char *at = strrchr(text, ')');
  for (int number = 2; at && number < kFlags; number++) at = strchr(at + 1, ' ');
  return at && strtoul(at, nullptr, 10) & kWorker;
}

uint64_t Thread::reads() {
  char text[512];
  if (!io_.is_open() && !open_for(io_, process_, thread_, "io")) return 0;
  return io_.read(text, sizeof text) ? field(text, "syscr", 0) : 0;
}

Facts facts_of(pid_t process, pid_t thread) {
  char path[80], text[4096];
  snprintf(path, sizeof path, "/proc/%d/task/%d/status", process, thread);
  Facts facts;
  if (!read_whole(path, text, sizeof text)) return facts;
  facts.known = true;
  facts.tracer = field(text, "TracerPid", 1);
  facts.filtered = field(text, "Seccomp", 0);
  facts.resident = field(text, "VmRSS", 0) << 10;
  facts.parent = static_cast<pid_t>(field(text, "PPid", 0));
  uint64_t pending = 0, blocked = 0;
  for (const char *name : {"\nSigPnd:", "\nShdPnd:"})
    if (const char *at = strstr(text, name)) pending |= strtoull(at + 8, nullptr, 16);
  if (const char *at = strstr(text, "\nSigBlk:")) blocked = strtoull(at + 8, nullptr, 16);
  facts.pending = pending & ~blocked;
  return facts;
}

Usage usage_of(pid_t process) {
  char path[64], text[1024];
  Usage usage;
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  if (!read_whole(path, text, sizeof text)) return usage;
  const char *at = strrchr(text, ')');
  constexpr int kMinorFaults = 10, kMajorFaults = 12, kUser = 14, kSystem = 15; // as numbered in proc(5)
  for (int number = 2; at && *at && number < kSystem; number++) {
    at = strchr(at + 1, ' ');
    const uint64_t value = at ? strtoull(at, nullptr, 10) : 0;
    if (number + 1 == kMinorFaults || number + 1 == kMajorFaults) usage.page_faults += value;
    if (number + 1 == kUser || number + 1 == kSystem)
      usage.seconds += static_cast<double>(value) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  // Ticks are longer than most copies run. Not every kernel has this file, which counts ns.
  snprintf(path, sizeof path, "/proc/%d/schedstat", process);
  if (read_whole(path, text, sizeof text)) usage.seconds = static_cast<double>(strtoull(text, nullptr, 10)) * 1e-9;
  return usage;
}

bool is_ending(pid_t process) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/statm", process);
  return !read_whole(path, text, sizeof text) || strtoull(text, nullptr, 10) == 0;
}

bool is_64_bit(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/exe", process);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  Elf64_Ehdr head = {};
  const bool read = pread(file, &head, sizeof head, 0) == sizeof head;
  ::close(file);
  return read && !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == EM_X86_64;
}

unsigned children_of(pid_t process, pid_t *to, unsigned capacity) {
  char path[80], text[4096];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, process);
  if (!read_whole(path, text, sizeof text)) return 0;
  unsigned count = 0;
  for (char *at = text; count < capacity;) {
    char *next;
    const long child = strtol(at, &next, 10);
    if (next == at) break;
    to[count++] = static_cast<pid_t>(child);
    at = next;
  }
  return count;
}

unsigned numbers_in(pid_t process, const char *folder, int *to, unsigned capacity) {
  char path[64], text[8192];
  snprintf(path, sizeof path, "/proc/%d/%s", process, folder);
  const int directory = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return 0;
  struct Entry {
    uint64_t inode;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[];
  };
  unsigned count = 0;
  long bytes;
  while (count < capacity && (bytes = syscall(SYS_getdents64, directory, text, sizeof text)) > 0)
    for (long at = 0; at < bytes && count < capacity;) {
      const Entry &entry = *reinterpret_cast<const Entry *>(text + at);
      at += entry.length;
      if (entry.name[0] != '.') to[count++] = atoi(entry.name);
    }
  ::close(directory);
  return count;
}

unsigned threads_of(pid_t process, pid_t *to, unsigned capacity) { return numbers_in(process, "task", to, capacity); }

} // namespace pagecast::speculate
