// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the controller writes into a copy before the copy runs: how to lock itself up, and where to go on after that.
// Plain memory, written once, from outside. Freestanding.
#pragma once
#include <cstdint>

namespace pagecast::speculate {

/// The registers with which the program goes on, as of user_regs_struct.
struct Resume {
  uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip, flags;
};

enum class DescriptorKind : uint32_t { kOther, kRegular, kDirectory, kNull };

struct DescriptorOrder {
  int32_t number;
  DescriptorKind kind;
  uint32_t flags; ///< of the original's open file: O_RDWR and so on
  uint32_t unused;
  int64_t position; ///< bytes
  char path[232];   ///< absolute; empty if unknown or too long
};

/// A mapping that the original shares with others, of which the copy gets its own; or one of a file that it only reads.
struct SharedOrder {
  uint64_t begin, end, offset; ///< offset in the file, bytes
  uint32_t protection;         ///< as of mmap
  uint32_t regular;            ///< 1: a file with a path that is still the mapped file
  uint64_t device, inode;      ///< which file that is: st_dev and st_ino
  char path[256];
};

inline constexpr unsigned kMaxDescriptors = 1024, kMaxShared = 64, kMaxMapped = 32, kMaxFilter = 512;
inline constexpr uint64_t kLeastMapped = 64u << 10; ///< bytes of a mapping that is worth to be looked after
inline constexpr uint64_t kMostCopiedShare =
    16u << 20; ///< bytes that are in shared anonymous memory, of all mappings; what holds more becomes unreadable

/// As of linux/filter.h.
struct FilterStep {
  uint16_t code;
  uint8_t jump_true, jump_false;
  uint32_t k;
};

struct Order {
  Resume resume;
  uint64_t cookie;               ///< the sixth argument of every call that the copy's own code makes
  int32_t original, thread;      ///< process and thread number of the original
  int32_t parent, group;         ///< what getppid and getpgrp answer
  int32_t controller;            ///< its process number
  int32_t channel;               ///< its descriptor of the channel
  int32_t null;                  ///< the number that the copy's descriptor of /dev/null gets
  uint32_t copy;                 ///< the copy's number
  uint32_t seconds;              ///< it lives at most so long, by the clock
  uint64_t memory_limit;         ///< bytes of address space
  uint32_t descriptors, shared, mapped, steps;
  uint32_t landlock;             ///< 1: to be used
  char directory[256];           ///< the working directory
  FilterStep filter[kMaxFilter];
  SharedOrder shares[kMaxShared];
  SharedOrder maps[kMaxMapped]; ///< of files that are read through them
  DescriptorOrder descriptor[kMaxDescriptors]; ///< by ascending number; last, since it is written as far as it is filled
};

/// The beginning of the copy's image: where things are, as offsets from it.
struct ImageHead {
  uint64_t enter, order, size;
};

} // namespace pagecast::speculate
