// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/preallocation.h"

#include "runtime/kernel/os.h"

#include <algorithm>
#include <cerrno>
#include <linux/falloc.h>

namespace pagecast {
namespace {
constexpr uint64_t kExtent = Backing::kExtent;
}

void Preallocation::start(Disk &disk, ForkFiles &fork_files, DiskErrors &disk_errors) {
  disk_ = &disk;
  fork_files_ = &fork_files;
  disk_errors_ = &disk_errors;
}

bool Preallocation::have_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t end) {
  const Backing &backing = fork_files_->backing(file);
  const uint64_t last = (offset + bytes - 1) / kExtent;
  if (backing.reserved(offset, bytes)) {
    if (!busy()) grow_ahead(file, last, end);
    return true;
  }
  if (busy() || !disk_errors_->may_reserve(os::now_ns())) return false;
  uint64_t first = offset / kExtent;
  while (backing.has_extent(first)) ++first;
  if (last >= backing.most_extents()) disk_errors_->no_room(-EFBIG, os::now_ns());
  else ask(kNeeded, file, first, last - first + 1);
  return backing.reserved(offset, bytes); // where it could be done at once
}

void Preallocation::grow_ahead(unsigned file, uint64_t last, uint64_t end) {
  const Backing &backing = fork_files_->backing(file);
  uint64_t before = 0, after = 0;
  while (before < kMostAhead && before < last && backing.has_extent(last - before - 1)) ++before;
  while (2 * after < before && backing.has_extent(last + 1 + after)) ++after;
  if (2 * after >= before || !asynchronous_ || disk_errors_->writes_refused()) return;
  const uint64_t first = last + 1 + after, stop = std::min((end + kExtent - 1) / kExtent, backing.most_extents());
  uint64_t extents = 0;
  while (extents < before && first + extents < stop && !backing.has_extent(first + extents)) ++extents;
  if (extents && os::now_ns() >= ahead_again_ns_) ask(kAhead, file, first, extents);
}

/// False: the queue is full.
bool Preallocation::ask(Purpose purpose, unsigned file, uint64_t first, uint64_t extents) {
  purpose_ = purpose;
  file_ = file;
  first_ = first;
  extents_ = extents;
  const int mode = purpose == kBack ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : 0;
  if (!asynchronous_) {
    done(fork_files_->reserve(file, first * kExtent, extents * kExtent));
    return true;
  }
  disk_->use(file, fork_files_->fd(file));
  if (!disk_->allocate(file, mode, first * kExtent, extents * kExtent, kTag)) return false;
  started_ns_ = os::now_ns();
  return true;
}

void Preallocation::done(int result) {
  started_ns_ = 0;
  if (purpose_ == kBack || result == -EINTR || result == -EAGAIN || result == -ECANCELED) return;
  const uint64_t now = os::now_ns();
  if (result == -EINVAL && asynchronous_) { // a kernel that does not take them: from now on without io_uring
    asynchronous_ = false;
  } else if (result == 0 || result == -EOPNOTSUPP) { // a file system without reservation: the write itself will tell
    for (uint64_t e = first_; e < first_ + extents_; ++e) fork_files_->backing(file_).note_extent(e);
    if (purpose_ == kNeeded) disk_errors_->space_again(now);
  } else if (purpose_ == kNeeded) {
    disk_errors_->no_room(result, now);
  } else {
    ahead_again_ns_ = now + kAheadAgainNs;
    ask(kBack, file_, first_, extents_);
  }
}

} // namespace pagecast
