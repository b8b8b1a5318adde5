// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/read_around.h"

#include <bit>

namespace pagecast::core {

void ReadAround::look(uint64_t before, uint64_t now, uint64_t touched) {
  const uint64_t come = now & ~before;
  const int pages = std::popcount(come);
  come_ += static_cast<unsigned>(pages);
  used_ += static_cast<unsigned>(std::popcount(come & touched));
  gone_ += static_cast<unsigned>(std::popcount(before & ~now));
  windows_ += pages != 0;
  whole_ += pages >= static_cast<int>(kWindow * 3 / 4);
}

ReadAround::Verdict ReadAround::verdict(bool alone) {
  if (alone ? windows_ < kEnoughWindows : come_ < kEnough) return Verdict::kGoOn;
  const bool wasted = used_ * 8 < come_ && gone_ * 2 >= come_, whole = whole_ * 2 >= windows_;
  forget();
  return alone ? whole ? Verdict::kAround : Verdict::kGoOn : wasted ? Verdict::kAlone : Verdict::kGoOn;
}

} // namespace pagecast::core
