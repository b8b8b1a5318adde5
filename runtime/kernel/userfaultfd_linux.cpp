// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Page faults that this process serves itself (userfaultfd): which memory, what happened, and what comes to be there.
#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/os.h"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/// UFFDIO_POISON (6.6), newer than the headers of Debian 12: its argument and number.
struct uffdio_poison_range {
  __u64 start, length;
  __u64 mode;
  __s64 updated;
};
#define UFFDIO_POISON_RANGE _IOWR(UFFDIO, 0x08, struct uffdio_poison_range)

namespace pagecast::os {
namespace {

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

/// The syscall needs a capability or a sysctl; the device needs only permission to open it.
int open_userfaultfd() {
  const int flags = O_CLOEXEC | O_NONBLOCK;
  int fd = static_cast<int>(syscall(SYS_userfaultfd, flags));
  if (fd >= 0) return fd;
  const int error = errno;
  const int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  if (device < 0) return -error;
  fd = ioctl(device, USERFAULTFD_IOC_NEW, flags);
  close(device);
  return fd >= 0 ? fd : -error;
}

} // namespace

/// The first call on a descriptor of userfaultfd: that the kernel has these features. It may be repeated when it fails.
static int fault_agree(int fd, uint64_t features) {
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = features;
  return ioctl(fd, UFFDIO_API, &api) ? -errno : 0;
}

int fault_open() {
  const int fd = open_userfaultfd();
  if (fd < 0) return fd;
  int error = fault_agree(fd, UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_EXACT_ADDRESS);
  if (error == -EINVAL) error = fault_agree(fd, UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID);
  if (error == 0) return own_descriptor(fd);
  close(fd);
  return error == -EPERM ? -EINVAL : error;
}

int fault_watch(int fd, uint64_t addr, uint64_t bytes) {
  uffdio_register r{};
  r.range = {addr, bytes};
  r.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
  if (ioctl(fd, UFFDIO_REGISTER, &r)) return -errno;
  const uint64_t need = (1ull << _UFFDIO_COPY) | (1ull << _UFFDIO_WRITEPROTECT) | (1ull << _UFFDIO_WAKE);
  if ((r.ioctls & need) != need) {
    fault_unwatch(fd, addr, bytes);
    return -EINVAL;
  }
  return 0;
}

int fault_unwatch(int fd, uint64_t addr, uint64_t bytes) {
  uffdio_range r{addr, bytes};
  return ioctl(fd, UFFDIO_UNREGISTER, &r) ? -errno : 0;
}

int fault_read(int fd, Fault *faults, unsigned most) {
  uffd_msg messages[32];
  if (most > 32) most = 32;
  const ssize_t n = syscall(SYS_read, fd, messages, most * sizeof *messages);
  if (n <= 0) return n < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
  int count = 0;
  for (size_t i = 0; i < static_cast<size_t>(n) / sizeof *messages; ++i) {
    if (messages[i].event != UFFD_EVENT_PAGEFAULT) continue;
    const uint64_t flags = messages[i].arg.pagefault.flags;
    const uint64_t place = messages[i].arg.pagefault.address;
    faults[count++] = {page_down(place), place, (flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0, (flags & UFFD_PAGEFAULT_FLAG_WP) != 0,
                       messages[i].arg.pagefault.feat.ptid};
  }
  return count;
}

/// The part to try next of a range that fails as a whole: whole pages, at least one.
static uint64_t first_half(uint64_t bytes) { return page_up(bytes / 2); }

int64_t fault_copy(int fd, uint64_t addr, const void *source, uint64_t bytes, bool protect) {
  uint64_t done = 0, piece = bytes;
  while (done < bytes) {
    uffdio_copy c{addr + done, reinterpret_cast<uint64_t>(source) + done, piece, protect ? UFFDIO_COPY_MODE_WP : 0u, 0};
    const int error = ioctl(fd, UFFDIO_COPY, &c) ? errno : 0;
    if (error == 0) {
      done += piece;
      piece = bytes - done;
    } else if (c.copy > 0) {
      // The layout of the address space is changing under us (fork, mmap): the rest can be tried again.
      done += static_cast<uint64_t>(c.copy);
      piece = bytes - done;
    } else if (error == ENOENT && piece > page_size()) {
      piece = first_half(piece); // each call must stay within one of the kernel's mappings
    } else if (error != EAGAIN) {
      return done ? static_cast<int64_t>(done) : -error;
    }
  }
  return static_cast<int64_t>(done);
}

int fault_protect(int fd, uint64_t addr, uint64_t bytes, bool protect) {
  int failed = 0;
  for (uint64_t done = 0, piece = bytes; done < bytes;) {
    uffdio_writeprotect w{{addr + done, piece}, protect ? UFFDIO_WRITEPROTECT_MODE_WP : 0u};
    const int error = ioctl(fd, UFFDIO_WRITEPROTECT, &w) ? errno : 0;
    if (error == 0) {
      done += piece;
      piece = bytes - done;
    } else if (error != EAGAIN && piece > page_size()) {
      piece = first_half(piece); // older kernels want one mapping here as well
    } else if (error != EAGAIN) {
      failed = -error;
      if (!protect) fault_wake(fd, addr + done, page_size());
      done += page_size(); // its neighbours will hardly fare better: page by page until one does
    }
  }
  return failed;
}

static int discard_one(uint64_t addr, uint64_t bytes) {
  const iovec range{reinterpret_cast<void *>(addr), bytes};
  return discard(&range, 1);
}

int fault_poison(int fd, uint64_t addr, uint64_t bytes) {
  uffdio_poison_range p{addr, bytes, 0, 0};
  if (ioctl(fd, UFFDIO_POISON_RANGE, &p) == 0 || errno == EEXIST) return 0;
  return fault_poison_by_mapping(fd, addr, bytes);
}

static int poisoned_by_mapping = -1; ///< the file, where that is how it is done; the pager's thread alone comes here

int fault_poison_by_mapping(int fd, uint64_t addr, uint64_t bytes) {
  if (poisoned_by_mapping < 0) poisoned_by_mapping = static_cast<int>(syscall(SYS_memfd_create, "pagecast-lost", MFD_CLOEXEC));
  const int error = poisoned_by_mapping < 0 ? -EINVAL : map_file(addr, bytes, kReadWrite, poisoned_by_mapping, 0, false);
  if (!error) fault_wake(fd, addr, bytes);
  return error;
}

int fault_heal(int fd, uint64_t addr, uint64_t bytes) {
  if (poisoned_by_mapping < 0) return discard_one(addr, bytes);
  if (const int error = map_zeros(addr, bytes, kReadWrite)) return error;
  give_to_children(addr, bytes, false);
  return fault_watch(fd, addr, bytes);
}

int fault_wake(int fd, uint64_t addr, uint64_t bytes) {
  uffdio_range r{addr, bytes};
  return ioctl(fd, UFFDIO_WAKE, &r) ? -errno : 0;
}

} // namespace pagecast::os
