// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Page faults as the kernel counts them: one event and one ring for each thread, since a ring for all would need an event for each
// processor, too.
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include "runtime/kernel/descriptors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::os {
namespace {

constexpr uint64_t kRingPages = 8; ///< behind the page that says how far it is written
uint64_t ring_bytes() { return (1 + kRingPages) * page_size(); }

struct Sample {
  perf_event_header header;
  uint64_t address;
};

int open_event(int thread, bool user_only) {
  perf_event_attr a{};
  a.size = sizeof a;
  a.type = PERF_TYPE_SOFTWARE;
  a.config = PERF_COUNT_SW_PAGE_FAULTS;
  a.sample_period = 1;
  a.sample_type = PERF_SAMPLE_ADDR;
  a.exclude_kernel = user_only; // else faults in copies to and from the kernel, too, which takes more rights
  const long fd = syscall(SYS_perf_event_open, &a, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

/// Nothing is there, and nobody gets these addresses.
bool vacate(char *at, uint64_t bytes) {
  return syscall(SYS_mmap, at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != -1;
}

} // namespace

bool FaultEvents::start() {
  space_ = static_cast<char *>(reserve(kThreads * ring_bytes()));
  return space_ && vacate(space_, kThreads * ring_bytes());
}

char *FaultEvents::ring_of(const Followed &f) const { return space_ + static_cast<uint64_t>(&f - followed_) * ring_bytes(); }

int FaultEvents::open(Followed &f, int thread) {
  int fd = open_event(thread, false);
  if (fd == -EACCES || fd == -EPERM) fd = open_event(thread, true);
  if (fd < 0) return fd;
  if (syscall(SYS_mmap, ring_of(f), ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == -1) {
    const int error = errno;
    syscall(SYS_close, fd);
    vacate(ring_of(f), ring_bytes());
    return -error;
  }
  f = {thread, own_descriptor(fd)};
  return 0;
}

void FaultEvents::close(Followed &f) {
  vacate(ring_of(f), ring_bytes());
  close_own(f.descriptor);
  f = {};
}

int FaultEvents::follow() {
  if (!space_) return -ENOMEM;
  if (filtered()) return -EPERM; // a filter may kill who makes a call that it does not know
  int ids[kThreads], followed = 0, error = 0;
  const unsigned n = threads(ids, kThreads);
  for (Followed &f : followed_)
    if (f.thread && std::find(ids, ids + n, f.thread) == ids + n) close(f);
  for (unsigned i = 0; i < n; ++i) {
    const int id = ids[i];
    if (id == thread_id()) continue;
    Followed *free = nullptr;
    bool known = false;
    for (Followed &f : followed_) {
      known |= f.thread == id;
      if (!f.thread && !free) free = &f;
    }
    if (!known && free)
      if (const int e = open(*free, id)) error = e;
  }
  for (const Followed &f : followed_) followed += f.thread != 0;
  return followed || !error ? followed : error;
}

unsigned FaultEvents::take(uint64_t *places, unsigned most) {
  unsigned n = 0;
  for (Followed &f : followed_) {
    if (!f.thread) continue;
    auto *const page = reinterpret_cast<perf_event_mmap_page *>(ring_of(f));
    const char *const data = ring_of(f) + page_size();
    const uint64_t mask = kRingPages * page_size() - 1;
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    while (tail < head && n < most) {
      Sample s; // records are of multiples of eight bytes, and this one of 16: none is split but at such
      for (unsigned word = 0; word < sizeof s / 8; ++word)
        memcpy(reinterpret_cast<char *>(&s) + 8 * word, data + ((tail + 8 * word) & mask), 8);
      if (s.header.type == PERF_RECORD_SAMPLE) places[n++] = s.address;
      if (s.header.size == 0) break;
      tail += s.header.size;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
  }
  return n;
}

void FaultEvents::stop() {
  for (Followed &f : followed_)
    if (f.thread) close(f);
}

} // namespace pagecast::os
