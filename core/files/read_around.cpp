// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/read_around.h"

#include <algorithm>
#include <bit>

namespace pagecast::core {

namespace {

constexpr uint64_t kUsedShare = 8;   ///< reading around pays where at least this part of what came was touched
constexpr uint64_t kGoneShare = 2;   ///< and is no matter where less than this part of what came has pushed others out
constexpr uint64_t kWholeShare = 2;  ///< of the samples, the part that came whole where a file is gone through
constexpr uint64_t kWholePages = ReadAround::kSamplePages * 3 / 4; ///< of a sample that counts as whole

} // namespace

void ReadAround::look(uint64_t before, uint64_t now, uint64_t touched) {
  const uint64_t come = now & ~before;
  const int pages = std::popcount(come);
  come_ += static_cast<unsigned>(pages);
  used_ += static_cast<unsigned>(std::popcount(come & touched));
  gone_ += static_cast<unsigned>(std::popcount(before & ~now));
  samples_ += pages != 0;
  whole_ += pages >= static_cast<int>(kWholePages);
}

ReadAround::Verdict ReadAround::verdict(bool alone) {
  if (alone ? samples_ < kEnoughSamples : come_ < kEnough) return Verdict::kGoOn;
  const bool wasted = used_ * kUsedShare < come_ && gone_ * kGoneShare >= come_, whole = whole_ * kWholeShare >= samples_;
  forget();
  return alone ? whole ? Verdict::kAround : Verdict::kGoOn : wasted ? Verdict::kAlone : Verdict::kGoOn;
}

void FaultMix::fault(uint64_t place, uint64_t moved, bool foreseen) {
  ++faults_;
  foreseen_ += foreseen;
  const uint64_t within = place % kMapped;
  if (!moved || within < kEdge || within >= kMapped - kEdge) return;
  ++strided_;
  forward_ += moved;
}

FaultMix::Verdict FaultMix::verdict(bool apart, uint64_t elapsed_ns, uint64_t read_bytes) {
  if (faults_ < kEnough || elapsed_ns < kLeastNs) return Verdict::kGoOn;
  const double ns = static_cast<double>(elapsed_ns);
  const bool strided = 2 * strided_ > faults_;
  bool is_better = strided;
  const double way = static_cast<double>(apart ? forward_ : read_bytes) / ns;
  if (apart) {
    // The faults themselves must have been foreseen: a stream that is new with each row waits for each place.
    is_better &= 2 * foreseen_ > faults_ && way > around_bytes_per_ns_;
    rest_ = is_better ? 0 : std::min(2 * rest_ + 1, kMostRest);
    resting_ = rest_;
  } else {
    around_bytes_per_ns_ = way;
    is_better &= read_bytes > 0 && resting_ == 0;
    resting_ -= resting_ != 0;
  }
  faults_ = strided_ = foreseen_ = 0;
  forward_ = 0;
  return is_better ? Verdict::kApart : Verdict::kAround;
}

} // namespace pagecast::core
