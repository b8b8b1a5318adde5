// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/profile/part.h"

#include "core/arithmetic.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/own_files.h"
#include "runtime/state/launcher.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pagecast::profile {
void Part::forked() {
  // The mapping is not the child's.
  ++generation_;
  failed_ = false;
  head_ = nullptr;
  segment_ = nullptr;
  segments_ = used_ = 0;
}

bool Part::make_file() {
  for (unsigned n = 0; n < 1000; ++n) { // a process number comes again after exec, and in containers
    if (snprintf(path_, sizeof path_, "%s/%d-%u.touches", directory_, os::process_id(), n) >= static_cast<int>(sizeof path_))
      break;
    const int error = os::make_empty(path_);
    if (error == 0) return true;
    if (error != -EEXIST) return errno = -error, false;
  }
  return errno = ENAMETOOLONG, false;
}

bool Part::grow() {
  if (failed_ || segments_ == kMostSegments) return false;
  const int before = errno;
  void *mapped =
      head_ || make_file() ? os::map_growing(path_, segments_ * core::kProfileSegment, core::kProfileSegment) : nullptr;
  if (!mapped) {
    failed_ = true;
    say("the profile of this process is not complete, as its file in %s cannot grow: %s", directory_, strerror(errno));
    return errno = before, false;
  }
  errno = before;
  segment_ = static_cast<char *>(mapped);
  used_ = 0;
  if (segments_++) return true;
  head_ = static_cast<core::ProfileHead *>(mapped);
  memcpy(head_->magic, core::kProfileMagic, sizeof head_->magic);
  head_->version = core::kProfileVersion;
  head_->process = static_cast<uint32_t>(os::process_id());
  head_->rank = rank_from_launcher();
  head_->started_ns = head_->last_ns = os::now_ns();
  head_->started_real_ns = os::wall_ns();
  snprintf(head_->program, sizeof head_->program, "%s", os::program_path());
  head_->bytes = used_ = sizeof *head_;
  return true;
}

void *Part::append(core::RecordKind kind, uint64_t bytes, uint64_t text) {
  const uint64_t whole = core::round_up(bytes + text, 8);
  if (whole > core::kProfileSegment - sizeof(core::ProfileHead)) return nullptr;
  if (!segment_ || used_ + whole > core::kProfileSegment) {
    if (segment_ && used_ < core::kProfileSegment)
      *reinterpret_cast<core::RecordHead *>(segment_ + used_) = {core::RecordKind::kEnd, uint32_t(core::kProfileSegment - used_)};
    if (!grow()) {
      if (head_) ++head_->dropped;
      return nullptr;
    }
  }
  auto *record = reinterpret_cast<core::RecordHead *>(segment_ + used_);
  *record = {kind, static_cast<uint32_t>(whole)};
  used_ += whole;
  return record;
}

void Part::commit(uint64_t now_ns) {
  head_->last_ns = now_ns;
  __atomic_store_n(&head_->bytes, (segments_ - 1) * core::kProfileSegment + used_, __ATOMIC_RELEASE);
}

} // namespace pagecast::profile
