// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread waits for: an offset in a file, or the name of one.
#pragma once
#include "speculate/watch/proc.h"
#include <cstddef>

namespace pagecast::speculate {

struct Awaited {
  enum class Kind { kUnknown, kRead, kName } kind = Kind::kUnknown;
  uint64_t inode = 0, offset = 0; ///< for kRead
  bool direct = false;            ///< for kRead: the file is open with O_DIRECT, past the page cache
  char path[512];                 ///< for kName: absolute, as a copy would write it
};

/// The thread must be in the call while this looks, or the answer is of another moment.
void find_awaited(pid_t process, const Call &call, Awaited *);
/// The file that it waits for, in either case; empty where there is none.
void find_awaited_path(pid_t process, const Call &call, char *to, size_t capacity);

/// Why a program is left alone that overlaps its reads itself.
inline constexpr const char *kOwnIo = "it overlaps its input itself (io_uring or userfaultfd)";
inline constexpr const char *kDirect = "it reads past the page cache (O_DIRECT), and so overlaps its reads itself";
/// One of these, if the call is such a read; else nullptr. Cost: at most two files of /proc.
const char *own_reading(pid_t process, const Call &call);

/// Whether it lists a directory, or opens one to do so.
bool is_listing(const Call &call);
/// The device that the call's directory is on, as far as memory knows; 0 where it does not.
uint64_t device_of_directory(pid_t process, const Call &call);

/// Writes `base`/`name` without "." and double slashes, as copies do. False: too long.
bool join_path(char *to, size_t capacity, const char *base, const char *name);

} // namespace pagecast::speculate
