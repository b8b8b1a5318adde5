// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// System calls of the copy's own code, which no library stands behind. They return -errno.
#pragma once
#include "speculate/shared/order.h"
#include <asm/unistd_64.h>
#include <initializer_list>

#pragma GCC visibility push(hidden) // addressed relative to the code, which is moved to wherever there is room

namespace pagecast::speculate {

extern "C" Order pagecast_order;

inline long call6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

/// A call of up to five arguments. The sixth shows the filter who makes it.
template <class A = long, class B = long, class C = long, class D = long, class E = long>
inline long call(long number, A a = {}, B b = {}, C c = {}, D d = {}, E e = {}) {
  return call6(number, (long)a, (long)b, (long)c, (long)d, (long)e, (long)pagecast_order.cookie);
}

// As of the kernel's headers, which freestanding code cannot mix with a library's.
inline constexpr int kNoEntry = 2, kAgain = 11, kAccess = 13, kFault = 14, kIsDirectory = 21, kNotDirectory = 20, kInvalid = 22,
                     kBadDescriptor = 9, kIllegalSeek = 29, kNoSystemCall = 38, kPermission = 1, kNotSupported = 95, kNoData = 61;
inline constexpr int kReadOnly = 0, kWriteOnly = 1, kReadWrite = 2, kAccessMode = 3, kCreate = 0100, kExclusive = 0200,
                     kTruncate = 01000, kAppend = 02000, kNonBlock = 04000, kDirectoryOnly = 0200000, kNoFollow = 0400000,
                     kNoAccessTime = 01000000, kCloseOnExec = 02000000, kPathOnly = 010000000, kTemporary = 020000000,
                     kDirect = 040000;
inline constexpr int kAtCwd = -100, kAtNoFollow = 0x100, kAtEmptyPath = 0x1000;
inline constexpr unsigned kTypeMask = 0170000, kTypeRegular = 0100000, kTypeDirectory = 0040000, kTypeLink = 0120000;

/// The kernel's struct stat of x86-64.
struct Stat {
  uint64_t device, inode, links;
  uint32_t mode, user, group, unused;
  uint64_t special;
  int64_t size, block, blocks;
  uint64_t times[6];
  int64_t reserved[3];
};
static_assert(sizeof(Stat) == 144);

struct OpenHow {
  uint64_t flags, mode, resolve;
};
inline constexpr uint64_t kResolveCached = 0x20;

struct Vector {
  char *base;
  uint64_t length;
};

/// What getdents64 writes; `length` of each, one behind the other.
struct Entry {
  uint64_t inode;
  int64_t next;
  uint16_t length;
  uint8_t type;
  char name[];
};
inline constexpr uint8_t kEntryRegular = 8, kEntryDirectory = 4;

extern "C" void *memcpy(void *to, const void *from, unsigned long bytes);
extern "C" void *memset(void *to, int value, unsigned long bytes);

} // namespace pagecast::speculate
#pragma GCC visibility pop
