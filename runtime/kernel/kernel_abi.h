// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel interfaces newer than the headers of Debian 12 (Linux 6.1).
#pragma once
#include <sys/syscall.h>

#include <linux/types.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

/// UFFDIO_POISON (6.6): its argument and number.
struct uffdio_poison_range {
  __u64 start, length;
  __u64 mode;
  __s64 updated;
};
#define UFFDIO_POISON_RANGE _IOWR(UFFDIO, 0x08, struct uffdio_poison_range)
