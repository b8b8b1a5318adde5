// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The disk as it is. Nothing else is defined here, since unit tests replace this file (tests/unit/runtime/pager/failing_disk.cpp).
#include "runtime/kernel/disk.h"

#include "runtime/kernel/own_files.h"

namespace pagecast {

bool Disk::read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) {
  return Uring::read(file, to, bytes, offset, tag);
}

bool Disk::write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag) {
  return Uring::write(file, from, bytes, offset, tag);
}

bool Disk::allocate(unsigned file, int mode, uint64_t offset, uint64_t bytes, uint64_t tag) {
  return Uring::allocate(file, mode, offset, bytes, tag);
}

unsigned Disk::completions(Completion *out, unsigned most) { return Uring::completions(out, most); }

void Disk::wait(uint64_t timeout_ns) { Uring::wait(timeout_ns); }

int os::read_file(int fd, void *to, uint64_t bytes, uint64_t offset) { return read_at_once(fd, to, bytes, offset); }

} // namespace pagecast
