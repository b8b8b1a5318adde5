// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/memory_map.h"
#include "speculate/inject/stub.h"
#include "speculate/watch/proc.h"
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

namespace pagecast::speculate {
namespace {

struct Line {
  uint64_t begin, end, offset, inode;
  unsigned major, minor;
  char rights[5];
  const char *name; ///< not terminated
  unsigned name_length;
};

/// The line at `text`, and where the next begins. Nullptr: the end.
const char *parse(const char *text, const char *end, Line *line) {
  if (text >= end) return nullptr;
  const char *const stop = static_cast<const char *>(memchr(text, '\n', static_cast<size_t>(end - text)));
  if (!stop) return nullptr;
  int at = 0;
  if (sscanf(text, "%lx-%lx %4s %lx %x:%x %lu%n", &line->begin, &line->end, line->rights, &line->offset, &line->major,
             &line->minor, &line->inode, &at) < 7)
    return nullptr;
  const char *name = text + at;
  while (name < stop && *name == ' ') name++;
  line->name = name;
  line->name_length = static_cast<unsigned>(stop - name);
  return stop + 1;
}

bool is_named(const Line &line, const char *name) {
  return line.name_length == strlen(name) && !memcmp(line.name, name, line.name_length);
}

/// Zeros, or instructions of ours.
bool ends_in_zeros(pid_t process, uint64_t end, unsigned bytes) {
  char found[512];
  if (bytes > sizeof found) return false;
  iovec local = {found, bytes}, remote = {reinterpret_cast<void *>(end - bytes), bytes};
  if (process_vm_readv(process, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(bytes)) return false;
  if (!memcmp(found + bytes - sizeof kStubMark, kStubMark, sizeof kStubMark)) return true;
  for (unsigned i = 0; i < bytes; i++)
    if (found[i]) return false;
  return true;
}

uint32_t protection(const Line &line) {
  return (line.rights[0] == 'r' ? PROT_READ : 0) | (line.rights[1] == 'w' ? PROT_WRITE : 0) |
         (line.rights[2] == 'x' ? PROT_EXEC : 0);
}

/// What stands for a mapping of a file that can be opened again by its name.
void describe_file(const Line &line, SharedOrder *order) {
  if (line.name_length == 0 || line.name_length >= sizeof order->path || line.name[0] != '/') return;
  memcpy(order->path, line.name, line.name_length);
  order->path[line.name_length] = 0;
  struct stat facts;
  if (stat(order->path, &facts) || !S_ISREG(facts.st_mode) || facts.st_ino != line.inode) return;
  order->regular = 1;
  order->device = facts.st_dev;
  order->inode = facts.st_ino;
}

} // namespace

bool MemoryMap::read(pid_t process) {
  length_ = 0;
  mapped_ = 0;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/maps", process);
  length_ = read_whole(path, text_, sizeof text_);
  if (length_ == 0 || length_ + 1 >= sizeof text_) return false;
  Line line;
  const char *const end = text_ + length_;
  for (const char *at = text_; (at = parse(at, end, &line)) != nullptr;) mapped_ += line.end - line.begin;
  return true;
}

uint64_t MemoryMap::find_zeros(pid_t process, unsigned bytes) const {
  const unsigned aligned = (bytes + 15) & ~15u;
  uint64_t elsewhere = 0;
  Line line;
  const char *const end = text_ + length_;
  for (const char *at = text_; (at = parse(at, end, &line)) != nullptr;) {
    if (strcmp(line.rights, "r-xp")) continue;
    const bool vdso = is_named(line, "[vdso]");
    if ((!vdso && elsewhere) || is_named(line, "[vsyscall]") || !ends_in_zeros(process, line.end, aligned)) continue;
    if (vdso) return line.end - aligned;
    elsewhere = line.end - aligned;
  }
  return elsewhere;
}

bool MemoryMap::list_shared(SharedOrder *to, unsigned capacity, unsigned *count) const {
  *count = 0;
  Line line;
  const char *const end = text_ + length_;
  for (const char *at = text_; (at = parse(at, end, &line)) != nullptr;) {
    if (line.rights[3] != 's') continue;
    if (*count == capacity) return false;
    SharedOrder &order = to[(*count)++];
    memset(&order, 0, sizeof order);
    order.begin = line.begin;
    order.end = line.end;
    order.offset = line.offset;
    order.protection = protection(line);
    describe_file(line, &order);
    // Neither a file that is still there nor memory: a device, or a file without a name. It must not be read for a copy.
    const bool memory = line.major == 0 && (!strncmp(line.name, "/dev/zero", 9) || !strncmp(line.name, "/SYSV", 5) ||
                                            !strncmp(line.name, "/memfd:", 7));
    if (!order.regular && !memory) order.protection &= ~static_cast<uint32_t>(PROT_READ);
  }
  return true;
}

/// Whether any part of this file is executable.
bool MemoryMap::is_code(uint64_t inode) const {
  Line line;
  const char *const end = text_ + length_;
  for (const char *at = text_; (at = parse(at, end, &line)) != nullptr;)
    if (line.inode == inode && line.rights[2] == 'x') return true;
  return false;
}

unsigned MemoryMap::list_mapped(SharedOrder *to, unsigned capacity) const {
  unsigned count = 0;
  Line line;
  const char *const end = text_ + length_;
  for (const char *at = text_; count < capacity && (at = parse(at, end, &line)) != nullptr;) {
    const bool read_only = line.rights[0] == 'r' && line.rights[1] == '-' && line.rights[2] == '-';
    if (!read_only || line.inode == 0 || line.end - line.begin < kLeastMapped || is_code(line.inode)) continue;
    SharedOrder &order = to[count];
    memset(&order, 0, sizeof order);
    order.begin = line.begin;
    order.end = line.end;
    order.offset = line.offset;
    order.protection = PROT_READ;
    describe_file(line, &order);
    count += order.regular;
  }
  return count;
}

} // namespace pagecast::speculate
