// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/which_end.h"

#include "core/arithmetic.h"

namespace pagecast::core {

uint32_t WhichEnd::pop(Replacement &order, uint32_t *out, uint32_t max, uint32_t pages) {
  End end = lots_ % kTryEvery == 0 ? other(better_) : better_;
  uint32_t n = end == kNewest ? order.pop_newcomers(out, max, newcomers(pages) / 2) : 0;
  if (n == 0) {
    if (better_ == kNewest && end == kOldest) order.settle_newcomers(max); // a trial: others are kept where they are
    end = kOldest; // where newcomers are few, until there are enough
    n = order.pop_victims(out, max);
  }
  last_ = end;
  went(end, out, n);
  return n;
}

/// Each takes the place of so many newcomers as are in the part of memory that has room for one.
void WhichEnd::came_by_stream(Replacement &order, uint32_t slot, uint32_t pages) {
  order.touch(slot);
  const uint32_t room = newcomers(pages) + 1;
  made_old_ += order.newcomers();
  if (made_old_ < room) return;
  order.settle_newcomers(static_cast<uint32_t>(made_old_ / room));
  made_old_ %= room;
}

/// A lot of pages has gone from an end.
void WhichEnd::went(End end, const uint32_t *slots, uint32_t n) {
  if (n == 0) return;
  // The lot that was a trial, and the one after it, to compare with.
  if (lots_ % kTryEvery < 2)
    for (uint32_t i = 0; i < least(n, kSampled); ++i) sample(end, slots[uint64_t{i} * n / least(n, kSampled)]);
  ++lots_;
  now_ += n;
  side_[end].gone += n;
}

void WhichEnd::sample(End end, uint32_t slot) {
  uint16_t &number = number_[hash(slot)];
  if (number) return; // rather few samples than one that is looked up for another
  Side &side = side_[end];
  Sample &s = side.sample[side.next];
  if (s.slot != kNoSlot) drop(side, s);
  s = {slot, now_};
  number = static_cast<uint16_t>(1 + 2 * side.next + end);
  side.next = (side.next + 1) % kSamples;
  ++side.away;
  side.gone_sum += now_;
}

/// It is not looked for any more.
void WhichEnd::drop(Side &side, Sample &s) {
  side.time += double(now_ - s.when);
  --side.away;
  side.gone_sum -= s.when;
  number_[hash(s.slot)] = 0;
  s.slot = kNoSlot;
}

void WhichEnd::came_back(uint32_t slot, Asker asker) {
  const uint32_t number = number_[hash(slot)] - 1u;
  Side &side = side_[number % 2];
  Sample &s = side.sample[number / 2];
  if (s.slot != slot) return;
  drop(side, s);
  if (asker == kStream) return;
  side.came_back += asker == kNest ? kByNest : 1;
  judge();
}

/// Whether samples of the end that is thought the better come back sooner than those of the other.
void WhichEnd::judge() {
  Side &now = side_[better_], &tried = side_[other(better_)];
  const double others = tried.came_back + kChance;
  const bool worse = now.came_back >= kEnough && now.came_back * time_of(tried) > kWorse * others * time_of(now);
  if (worse) {
    better_ = other(better_);
    ++changes_;
    for (Side &s : side_) { // the rates are others from now on
      for (Sample &one : s.sample)
        if (one.slot != kNoSlot) drop(s, one);
      s.time = s.came_back = 0;
    }
  } else if (now.came_back + tried.came_back > kMostCounted) {
    for (Side &s : side_) s.time /= 2, s.came_back /= 2;
  }
}

} // namespace pagecast::core
