// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager's requests to the backing store, and the only place where it sleeps: a ring (uring.h), of which the functions below
// are passed on by disk.cpp. Unit tests put a disk that fails on command in that file's place.
#pragma once
#include "runtime/kernel/uring.h"

namespace pagecast {

class Disk : public Uring {
public:
  bool read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag);
  bool write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag);
  bool allocate(unsigned file, int mode, uint64_t offset, uint64_t bytes, uint64_t tag);
  unsigned completions(Completion *out, unsigned most);
  void wait(uint64_t timeout_ns);
};

} // namespace pagecast
