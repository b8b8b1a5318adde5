// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/preallocation.h"

#include "runtime/kernel/os.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {
namespace {
constexpr uint64_t kExtent = Room::kExtent;
}

void Preallocation::start(ForkFiles &fork_files, DiskErrors &disk_errors, unsigned number) {
  tag_ = kTag | number;
  fork_files_ = &fork_files;
  disk_errors_ = &disk_errors;
}

bool Preallocation::have_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t end) {
  const Room &room = fork_files_->room(file);
  const uint64_t last = (offset + bytes - 1) / kExtent;
  if (room.reserved(offset, bytes)) {
    if (!busy()) grow_ahead(file, last, end);
    return true;
  }
  if (busy() || !disk_errors_->may_reserve(os::now_ns())) return false;
  uint64_t first = offset / kExtent;
  while (room.has_extent(first)) ++first;
  if (last >= room.most_extents()) disk_errors_->no_room(-EFBIG, os::now_ns());
  else ask(kNeeded, file, first, last - first + 1);
  return room.reserved(offset, bytes); // where it could be done at once
}

void Preallocation::grow_ahead(unsigned file, uint64_t last, uint64_t end) {
  const Room &room = fork_files_->room(file);
  uint64_t before = 0, after = 0;
  while (before < kMostAhead && before < last && room.has_extent(last - before - 1)) ++before;
  while (2 * after < before && room.has_extent(last + 1 + after)) ++after;
  if (2 * after >= before || !asynchronous_ || disk_errors_->writes_refused()) return;
  const uint64_t first = last + 1 + after, stop = std::min((end + kExtent - 1) / kExtent, room.most_extents());
  uint64_t extents = 0;
  while (extents < before && first + extents < stop && !room.has_extent(first + extents)) ++extents;
  if (extents && os::now_ns() >= ahead_again_ns_) ask(kAhead, file, first, extents);
}

/// False: the queue is full.
bool Preallocation::ask(Purpose purpose, unsigned file, uint64_t first, uint64_t extents) {
  purpose_ = purpose;
  file_ = file;
  first_ = first;
  extents_ = extents;
  if (!asynchronous_) {
    done(fork_files_->store(file).reserve_room_now(file, first * kExtent, extents * kExtent));
    return true;
  }
  Store &store = fork_files_->store(file);
  if (purpose == kBack ? !store.give_back_room(file, first * kExtent, extents * kExtent, tag_)
                       : !store.reserve_room(file, first * kExtent, extents * kExtent, tag_))
    return false;
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
    for (uint64_t e = first_; e < first_ + extents_; ++e) fork_files_->room(file_).note_extent(e);
    if (purpose_ == kNeeded) disk_errors_->space_again(now);
  } else if (purpose_ == kNeeded) {
    disk_errors_->no_room(result, now);
  } else {
    ahead_again_ns_ = now + kAheadAgainNs;
    ask(kBack, file_, first_, extents_);
  }
}

} // namespace pagecast
