// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/attendant.h"

namespace pagecast {

void Attendant::take_place(uint64_t now) {
  if (attends() && !os::attending()) disturbed(now); // the watching thread has ended it, or a sandbox has begun
  attendance_.decide(now, attendance_.wants_time(now) ? os::cpu_ns_of(attendance_.thread()) : 0);
  if (!attendance_.attends()) leave();
  else if (!attends()) go_to_thread(now);
}

void Attendant::go_to_thread(uint64_t now) {
  const int processor = place_.processor_of(attendance_.thread());
  if (processor >= 0 && processor == processor_) return;
  const bool was_here = attends();
  if (processor >= 0 && os::attend(processor)) {
    processor_ = processor;
    if (!was_here) since_ns_ = now;
    if (!watches_.exchange(1)) os::futex_wake(reinterpret_cast<uint32_t *>(&watches_));
    ++(was_here ? statistics_.attendance.followed : statistics_.attendance.begun);
    return;
  }
  leave();
  attendance_.disturbed(now);
}

void Attendant::leave() {
  if (!attends()) return;
  os::stop_attending();
  statistics_.attendance.ns += os::now_ns() - since_ns_;
  processor_ = -1;
  suspicions_ = 0;
}

void Attendant::found(bool alone) {
  suspicions_ = alone ? suspicions_ + 1 : 0;
  if (suspicions_ < kSuspicions) return;
  suspicions_ = 0;
  go_to_thread(os::now_ns());
}

void Attendant::kept_waiting(uint64_t ns, uint64_t now) {
  if (ns >= kMostKept) disturbed(now);
}

void Attendant::disturbed(uint64_t now) {
  ++statistics_.attendance.disturbed;
  works_ahead(now);
}

void Attendant::works_ahead(uint64_t now) {
  attendance_.disturbed(now);
  leave();
}

void Attendant::watch() {
  for (unsigned unneeded = 0;;) {
    while (!watches_.load()) os::futex_wait(reinterpret_cast<uint32_t *>(&watches_), 0);
    const uint64_t seen = beats_.load(std::memory_order_relaxed);
    const bool attended = os::attending();
    os::sleep(kWatchNs);
    if (attended && beats_.load(std::memory_order_relaxed) == seen) os::stop_attending();
    unneeded = attended ? 0 : unneeded + 1;
    if (unneeded < kMoreLooks) continue;
    unneeded = 0;
    watches_.store(0);
    if (os::attending()) watches_.store(1); // it began meanwhile, and found the thread watching
  }
}

void Attendant::forked() {
  attendance_ = core::Attendance();
  place_.forked();
  watches_.store(0);
  processor_ = -1;
  suspicions_ = 0;
}

} // namespace pagecast
