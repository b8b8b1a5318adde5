// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/code_room.h"
#include "core/arithmetic.h"

namespace pagecast::core {
namespace {

constexpr uint64_t kPage = 4096, kSecond = 1000000000;

} // namespace

/// Pages of code that were read again since the last look.
uint64_t CodeRoom::count(const CodeReads &now, uint64_t size) {
  const uint64_t again = seen_.again ? saturating_sub(now.again, seen_.again) : 0,
                 faults = saturating_sub(now.by_faults, seen_.by_faults) / kPage;
  if (now.waits <= seen_.waits) return 0;
  if (now.cache < size / kMuchCache) return again;
  return now.maps_data || seen_.by_faults == 0 ? 0 : least(again, faults);
}

uint64_t CodeRoom::update(const CodeReads &now, uint64_t size, uint64_t now_ns) {
  again_ += count(now, size);
  stalled_ns_ += saturating_sub(now.stalled_ns, seen_.stalled_ns);
  seen_ = now;
  if (begin_ns_ == 0) begin_ns_ = now_ns;
  const uint64_t passed = now_ns - begin_ns_;
  much_ = passed >= kStepNs && again_ * kPage > kRate / 1000 * (passed / (kSecond / 1000));
  if (passed < kStepNs) return room_;
  const uint64_t usual = size / kMost, step = most(most(size / kFirstStep, least(room_, size / kStep)), room_ / kGrowth);
  const bool waits_for_data = stalled_ns_ > passed / 4 * 3, waits_for_code = stalled_ns_ < passed / 2;
  if (much_) {
    grown_ns_ = now_ns;
    if (shrank_) stays_ns_ = least(stays_ns_ * 2, kMostForNs);
    shrank_ = false;
  }
  if (waits_for_data && room_ > usual) room_ -= least(step, room_ - usual);
  else if (much_) room_ = most(room_, least(room_ + step, waits_for_code ? size / kMostUnstalled : usual));
  else if (room_ && now_ns - grown_ns_ >= stays_ns_)
    room_ = saturating_sub(room_, size / kStep / 1000 * (least(passed, kSecond) / (kSecond / 1000))), shrank_ = true;
  again_ = stalled_ns_ = 0;
  begin_ns_ = now_ns;
  return room_;
}

} // namespace pagecast::core
