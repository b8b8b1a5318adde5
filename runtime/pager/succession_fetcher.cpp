// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/succession_fetcher.h"

#include "runtime/kernel/os.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {
constexpr uint32_t kShare = 32; ///< each thread may have this part of the budget ahead of it
constexpr uint32_t kAtOnce = 16; ///< pages, in one turn of the loop
} // namespace

bool SuccessionFetcher::start() {
  using S = core::Successions;
  auto *next = static_cast<uint32_t *>(os::reserve(uint64_t{PageTable::kSlots} * sizeof(uint32_t)));
  auto *used = static_cast<uint8_t *>(os::reserve(PageTable::kSlots / S::kGroup));
  if (next && used) memory_.successions.attach(next, used);
  return next && used;
}

void SuccessionFetcher::follow(uint32_t slot, bool write, core::Favour::Owner owner) {
  using S = core::Successions;
  Thread &t = thread_[owner];
  core::StreamInvestment &investment = memory_.successive;
  investment.fault();
  const uint32_t mark = t.way.mark;
  const S::Event event = memory_.successions.waits(t.way, slot);
  if (event == S::kStrayed) return;
  if (event == S::kCame) used(t, mark);
  else if (event == S::kLost) give_up(t);
  else if (t.count) used(t, t.asked[t.count - 1]); // it came to the end of what was known
  if (event == S::kForeseen) investment.missed();
  t.stores = write;
  if (memory_.successions.after(t.way.end) == S::kNone) return;
  if (!investment.pays()) return investment.forgone();
  memory_.successions.ask(t.way, limit_.pages() / kShare);
  t.blocked = 0;
}

bool SuccessionFetcher::push_on() {
  bool busy = false;
  for (unsigned i = 0; i <= core::Favour::kMost; ++i)
    if (thread_[i].way.left && thread_[i].blocked != memory_.freed)
      busy |= push_on(thread_[i], static_cast<core::Favour::Owner>(i));
  return busy;
}

bool SuccessionFetcher::push_on(Thread &t, core::Favour::Owner owner) {
  bool busy = false;
  const auto is_away = [this](uint32_t s) {
    return memory_[s].state == PageState::kAbsent || memory_[s].state == PageState::kShelved;
  };
  for (uint32_t n = kAtOnce; n && t.way.left; --n) {
    const uint32_t slot = memory_.successions.next(t.way, is_away);
    PagedRegion *r = slot == core::Successions::kNone ? nullptr : memory_.region_of(slot);
    if (!r || r->draining || t.count == 2 * core::Successions::kMostWindow) {
      t.way.left = 0;
      break;
    }
    const bool stores = r->may_expect_stores() && (t.stores || r->store_predictor.expected());
    const bool shelved = memory_[slot].state == PageState::kShelved; // where it is out of the program's sight, as a mark is
    if (shelved ? !memory_.successions.next_is_mark(t.way) && !fetcher_.unshelve(slot, stores, false)
                : fetcher_.read_in(*r, slot, 1, {Statistics::kHistory, 0, kSuccessive, stores, false, {}, owner}) == 0) {
      t.blocked = memory_.freed;
      break;
    }
    busy = true;
    t.asked[t.count++] = slot;
    if (memory_.successions.asked(t.way, slot) && !shelved) memory_[slot].flags |= kToMark;
  }
  return busy;
}

/// The program has come to the page, and used what was asked for before it.
void SuccessionFetcher::used(Thread &t, uint32_t mark) {
  uint32_t *end = std::find(t.asked, t.asked + t.count, mark);
  if (end != t.asked + t.count) ++end;
  for (const uint32_t *slot = t.asked; slot != end; ++slot) memory_.settle_used(*slot);
  t.count -= static_cast<uint32_t>(end - t.asked);
  memmove(t.asked, end, t.count * sizeof *end);
}

/// What was asked for goes first.
void SuccessionFetcher::give_up(Thread &t) {
  for (uint32_t i = 0; i < t.count; ++i) {
    const uint32_t slot = t.asked[i];
    Page &p = memory_[slot];
    if (p.site != Statistics::kHistory) continue;
    if (p.state == PageState::kMark) marks_.drop(slot);
    if (p.state == PageState::kReading) p.flags &= static_cast<uint8_t>(~kToMark);
    memory_.settle_wasted(slot);
  }
  t.count = 0;
}

void SuccessionFetcher::forget(uint32_t first, uint32_t end) {
  for (Thread &t : thread_) {
    const bool any = std::any_of(t.asked, t.asked + t.count, [&](uint32_t slot) { return slot >= first && slot < end; });
    if (any || (t.way.end >= first && t.way.end < end)) t.way = {}, t.count = 0;
  }
}

} // namespace pagecast
