// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/nbd/membership.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/message.h"
#include "runtime/nbd/helper_start.h"
#include "runtime/state/launcher.h"

#include <cstring>

namespace pagecast {
namespace {

/// Without the name of a client: `?client=NAME` behind the export's, as it is written in an address.
void copy_without_client(const char *uri, char *out, size_t capacity) {
  const char *client = strstr(uri, "%3Fclient="), *end = client ? strchr(client, '?') : nullptr;
  const size_t head = client ? static_cast<size_t>(client - uri) : strlen(uri);
  const char *tail = client && end ? end : "";
  if (head + strlen(tail) >= capacity) return void(*out = 0);
  memcpy(out, uri, head);
  strcpy(out + head, tail);
}

} // namespace

bool Membership::join(int helper) {
  if (tried_ || !helper) return member_ >= 0;
  tried_ = true;
  memory_ = os::open_of_process(helper, Job::kMemory);
  pipe_ = memory_ < 0 ? -1 : os::open_of_process(helper, Job::kPipe);
  auto *job = pipe_ < 0 ? nullptr : reinterpret_cast<Job *>(os::map_shared_memory(memory_, sizeof(Job)));
  if (!job || job->version != Job::kVersion) {
    say("the helper of this job cannot be reached: each process asks for its own blocks");
    return false;
  }
  job_ = job;
  for (int member = 0; member < static_cast<int>(Job::kMembers) && member_ < 0; ++member)
    if (os::lock_byte(memory_, member, false)) member_ = member;
  if (member_ < 0)
    return say("a job has no more than %u processes with a helper: this one asks for its own blocks", Job::kMembers), false;
  JobMember &m = job_->member[member_];
  m.rank = rank_from_launcher();
  for (JobEntry &e : m.entry) // of who was this member before, and was killed
    if (const uint32_t serial = e.serial.load(std::memory_order_relaxed); serial % 2)
      e.serial.store(serial + 1, std::memory_order_release);
  return true;
}

void Membership::forget() {
  close_own(memory_);
  close_own(pipe_);
  memory_ = pipe_ = member_ = -1;
}

bool Membership::has_helper() const { return os::is_byte_locked(memory_, Job::kHelperLock); }

int Membership::number_of(const char *uri, uint64_t bytes, uint64_t block) {
  char name[sizeof(JobExport::uri)];
  copy_without_client(uri, name, sizeof name);
  if (!*name || !os::lock_byte(memory_, Job::kExportsLock, true)) return -1;
  int number = 0;
  for (; number < static_cast<int>(Job::kExports); ++number) {
    JobExport &e = job_->exports[number];
    if (e.known.load(std::memory_order_acquire) && strcmp(e.uri, name) != 0) continue;
    if (e.known.load(std::memory_order_relaxed)) break;
    e.bytes = bytes;
    e.block = block;
    strcpy(e.uri, name);
    e.known.store(1, std::memory_order_release);
    break;
  }
  os::unlock_byte(memory_, Job::kExportsLock);
  return number < static_cast<int>(Job::kExports) ? number : -1;
}

int Membership::find_entry() const {
  for (unsigned i = 0; i < JobMember::kEntries; ++i)
    if (job_->member[member_].entry[i].serial.load(std::memory_order_relaxed) % 2 == 0) return static_cast<int>(i);
  return -1;
}

void Membership::open(int entry) {
  JobEntry &e = (*this)[entry];
  e.done.store(0, std::memory_order_relaxed);
  e.serial.fetch_add(1, std::memory_order_seq_cst);
  wake();
}

void Membership::close(int entry) {
  (*this)[entry].serial.fetch_add(1, std::memory_order_seq_cst);
  wake();
}

void Membership::note(int entry, uint64_t done) {
  (*this)[entry].done.store(done, std::memory_order_seq_cst);
  wake();
}

JobVerdict Membership::verdict(int entry) const { return job_->member[member_].entry[entry].answer(); }

void Membership::wake() const {
  if (job_->asleep.exchange(0, std::memory_order_seq_cst)) os::write_byte(pipe_);
}

} // namespace pagecast
